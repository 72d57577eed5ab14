// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.wire.Connection;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.isolation.wire.PendingReply;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.WireFormatException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The other end of a connection may send anything, or nothing more. */
class ConnectionTest {
  private static final long SEED = Long.getLong("thalamus.seed", 1);
  private static final long PATIENCE_NANOS = Duration.ofSeconds(20).toNanos();

  @TempDir Path folder;

  /** A connection and the other end of its socket. */
  private final class Ends implements Connection.Receiver, AutoCloseable {
    private final Connection connection;
    private final SocketChannel other;
    private final CompletableFuture<String> end = new CompletableFuture<>();

    Ends(int number) throws IOException {
      UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("s" + number));
      try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        server.bind(address);
        other = SocketChannel.open(address);
        connection = new Connection(server.accept(), "test", this);
      }
      connection.start();
    }

    @Override
    public void receive(MessageType type, long call, Decoder body) throws WireFormatException {
      body.all(Decoder::int32);
    }

    @Override
    public void closed(String why) {
      end.complete(why);
    }

    @Override
    public void close() throws IOException {
      connection.close();
      other.close();
    }
  }

  private static void unavailable(PendingReply reply) {
    assertTrue(reply.await(PATIENCE_NANOS), "the call waits for ever");
    assertEquals(
        ErrorStatus.DEVICE_UNAVAILABLE, assertThrows(DeviceException.class, reply::get).status());
  }

  @Test
  void garbageEndsTheConnectionAndItsCalls() throws Exception {
    System.out.println("ConnectionTest: seed " + SEED);
    Random random = new Random(SEED);
    for (int i = 0; i < 50; i++) {
      try (Ends ends = new Ends(i)) {
        PendingReply reply = ends.connection.call(MessageType.EXECUTE, new Encoder());
        byte[] bytes = new byte[1 + random.nextInt(100)];
        random.nextBytes(bytes);
        ends.other.write(ByteBuffer.wrap(bytes));
        ends.other.close();
        unavailable(reply);
        assertFalse(ends.end.get(20, TimeUnit.SECONDS).isBlank());
        assertThrows(
            DeviceException.class, () -> ends.connection.call(MessageType.EXECUTE, new Encoder()));
      }
    }
  }

  @Test
  void aLengthTakesNoMemory() throws Exception {
    try (Ends ends = new Ends(0)) {
      PendingReply reply = ends.connection.call(MessageType.EXECUTE, new Encoder());
      for (int length : new int[] {Connection.MAX_MESSAGE, Integer.MAX_VALUE}) {
        ends.other.write(ByteBuffer.allocate(4).putInt(length).flip());
      }
      ends.other.close();
      unavailable(reply);
    }
  }

  @Test
  void anAnswerThatNobodyAskedForEndsTheConnection() throws Exception {
    try (Ends ends = new Ends(0)) {
      ends.other.write(
          ByteBuffer.allocate(13)
              .putInt(9)
              .put((byte) MessageType.REPLY.ordinal())
              .putLong(77)
              .flip());
      assertTrue(ends.end.get(20, TimeUnit.SECONDS).contains("nobody made"));
    }
  }

  @Test
  void anInterruptOfACallerLeavesTheConnection() throws Exception {
    try (Ends ends = new Ends(0)) {
      Thread.currentThread().interrupt();
      PendingReply reply = ends.connection.call(MessageType.EXECUTE, new Encoder());
      assertFalse(reply.await(1_000_000));
      assertTrue(Thread.interrupted(), "the interrupt is lost");
      assertFalse(ends.end.isDone());
    }
  }
}
