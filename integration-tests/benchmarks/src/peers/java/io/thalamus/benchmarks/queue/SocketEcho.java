// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.queue;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** A Unix domain socket by the JDK's channels. */
final class SocketEcho implements Echo {
  private final SocketChannel asking;
  private final SocketChannel answering;
  private final ByteBuffer asked = ByteBuffer.allocateDirect(BYTES);
  private final ByteBuffer answered = ByteBuffer.allocateDirect(BYTES);

  SocketEcho(boolean isSpinning) throws IOException {
    Path folder = Files.createTempDirectory("thalamus-echo");
    Path path = folder.resolve("socket");
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(path);
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      asking = SocketChannel.open(address);
      answering = server.accept();
    } finally {
      Files.deleteIfExists(path);
      Files.delete(folder);
    }
    asking.configureBlocking(!isSpinning);
    answering.configureBlocking(!isSpinning);
  }

  @Override
  public String name() {
    return "socket";
  }

  @Override
  public int ask(int count) throws IOException {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < WORDS; k++) {
        asked.putLong(k * Long.BYTES, i + k);
      }
      send(asking, asked);
      receive(asking, asked);
      for (int k = 0; k < WORDS; k++) {
        wrong += asked.getLong(k * Long.BYTES) == i + k ? 0 : 1;
      }
    }
    return wrong;
  }

  @Override
  public void answer(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      receive(answering, answered);
      send(answering, answered);
    }
  }

  private static void send(SocketChannel channel, ByteBuffer message) throws IOException {
    message.clear();
    while (message.hasRemaining()) {
      channel.write(message);
    }
  }

  private static void receive(SocketChannel channel, ByteBuffer message) throws IOException {
    message.clear();
    while (message.hasRemaining()) {
      int read = channel.read(message);
      if (read < 0) {
        throw new EOFException("the other side closed the socket");
      }
      if (read == 0) {
        Thread.onSpinWait();
      }
    }
  }

  @Override
  public void close() throws IOException {
    asking.close();
    answering.close();
  }
}
