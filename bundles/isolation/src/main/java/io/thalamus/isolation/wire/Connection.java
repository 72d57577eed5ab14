// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.WireFormatException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Calls in both directions over one socket. Thread-safe; owns the socket and two threads, which end
 * when it is closed, by either end. A message is its length, its type, the number of its call, and
 * a body.
 *
 * <p>Only its own two threads touch the socket: an interrupt of a caller would close it.
 */
public final class Connection implements AutoCloseable {
  /** The longest message, but for its length. */
  public static final int MAX_MESSAGE = 1 << 26;

  private static final int HEADER = Byte.BYTES + Long.BYTES;
  private static final int CHUNK = 1 << 20;
  private static final Duration FOREVER = Duration.ofDays(1000);
  private static final ByteBuffer END = ByteBuffer.allocate(0);

  private final SocketChannel channel;
  private final Receiver receiver;
  private final Map<Long, PendingReply> pending = new ConcurrentHashMap<>();
  private final AtomicLong lastCall = new AtomicLong();
  private final AtomicReference<String> end = new AtomicReference<>();
  private final BlockingQueue<ByteBuffer> outgoing = new LinkedBlockingQueue<>();
  private final Thread reader;
  private final Thread writer;

  /** The end of a connection that takes calls. Called in the thread that reads the socket. */
  public interface Receiver {
    /**
     * Takes a call.
     *
     * @throws WireFormatException where the message is none; the connection then ends
     */
    void receive(MessageType type, long call, Decoder body) throws WireFormatException;

    /** The connection has ended; called once. */
    void closed(String why);
  }

  /**
   * A connection over a socket that is connected; {@link #start} makes it read.
   *
   * @param name what the names of its threads begin with
   */
  public Connection(SocketChannel channel, String name, Receiver receiver) {
    this.channel = channel;
    this.receiver = receiver;
    this.reader = Thread.ofPlatform().daemon().name(name + "-reader").unstarted(this::read);
    this.writer = Thread.ofPlatform().daemon().name(name + "-writer").unstarted(this::write);
  }

  /** Begins to read and write. */
  public void start() {
    reader.start();
    writer.start();
  }

  /**
   * Makes a call, whose answer this thread waits for.
   *
   * @throws DeviceException with DEVICE_UNAVAILABLE where the other end is gone, GENERAL_FAILURE
   *     where the message would be too long
   */
  public PendingReply call(MessageType type, Encoder body) throws DeviceException {
    long id = lastCall.incrementAndGet();
    ByteBuffer message = message(type, id, body);
    PendingReply reply = new PendingReply();
    pending.put(id, reply);
    outgoing.add(message);
    String why = end.get();
    if (why != null && pending.remove(id) != null) {
      throw gone(why);
    }
    return reply;
  }

  /** Says something that has no answer; nothing happens where the other end is gone. */
  public void send(MessageType type, Encoder body) throws DeviceException {
    if (end.get() == null) {
      outgoing.add(message(type, 0, body));
    }
  }

  /** Answers a call. */
  public void reply(long call, Encoder body) {
    try {
      outgoing.add(message(MessageType.REPLY, call, body));
    } catch (DeviceException e) {
      fail(call, e.status(), e.getMessage());
    }
  }

  /** Answers a call that failed. */
  public void fail(long call, ErrorStatus status, String message) {
    fail(call, status, message, Optional.empty());
  }

  /** Answers a call that failed, and may succeed after a time where one is given. */
  public void fail(long call, ErrorStatus status, String message, Optional<Duration> retryAfter) {
    Encoder body =
        new Encoder().constant(status).text(message).optional(retryAfter, ExecutionCodec::duration);
    outgoing.add(frame(MessageType.FAILURE, call, body.toArray()));
  }

  private static ByteBuffer message(MessageType type, long call, Encoder body)
      throws DeviceException {
    byte[] bytes = body.toArray();
    if (bytes.length > MAX_MESSAGE - HEADER) {
      throw DeviceException.failure(
          "a message of "
              + bytes.length
              + " bytes is too long for the process of a device; keep large constants in memories");
    }
    return frame(type, call, bytes);
  }

  private static ByteBuffer frame(MessageType type, long call, byte[] body) {
    return ByteBuffer.allocate(Integer.BYTES + HEADER + body.length)
        .putInt(HEADER + body.length)
        .put((byte) type.ordinal())
        .putLong(call)
        .put(body)
        .flip();
  }

  private static DeviceException gone(String why) {
    return new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, why);
  }

  private void write() {
    try {
      for (ByteBuffer next = outgoing.take(); next != END; next = outgoing.take()) {
        while (next.hasRemaining()) {
          channel.write(next);
        }
      }
    } catch (IOException e) {
      end("its process cannot be written to: " + e.getMessage());
    } catch (InterruptedException e) {
      end("the thread that writes to its process was interrupted");
    }
  }

  private void read() {
    try {
      while (true) {
        int length = read(Integer.BYTES).getInt();
        if (length < HEADER || length > MAX_MESSAGE) {
          throw new WireFormatException("a message of " + length + " bytes");
        }
        ByteBuffer message = read(length);
        int type = message.get();
        if (type < 0 || type >= MessageType.values().length) {
          throw new WireFormatException("a message of the unknown type " + type);
        }
        long call = message.getLong();
        byte[] body = new byte[message.remaining()];
        message.get(body);
        receive(MessageType.values()[type], call, new Decoder(body), body);
      }
    } catch (EOFException e) {
      end("its process has ended");
    } catch (WireFormatException e) {
      end("its process sent nonsense: " + e.getMessage());
    } catch (IOException e) {
      end("its process cannot be read from: " + e.getMessage());
    }
  }

  /** Reads so many bytes; memory is taken for those that come, not for those that are promised. */
  private ByteBuffer read(int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(Math.min(length, CHUNK));
    while (true) {
      if (channel.read(bytes) < 0) {
        throw new EOFException();
      }
      if (bytes.position() == length) {
        return bytes.flip();
      }
      if (!bytes.hasRemaining()) {
        int doubled = Math.min(length, 2 * bytes.capacity());
        bytes = ByteBuffer.allocate(doubled).put(bytes.flip());
      }
    }
  }

  private void receive(MessageType type, long call, Decoder decoder, byte[] body)
      throws WireFormatException {
    if (type != MessageType.REPLY && type != MessageType.FAILURE) {
      receiver.receive(type, call, decoder);
      return;
    }
    PendingReply reply = pending.remove(call);
    if (reply == null) {
      throw new WireFormatException("an answer to the call " + call + ", which nobody made");
    }
    if (type == MessageType.REPLY) {
      reply.complete(body);
      return;
    }
    try {
      reply.fail(decoder.all(Connection::failure));
    } catch (WireFormatException e) {
      reply.fail(DeviceException.failure("it failed and cannot say how"));
      throw e;
    }
  }

  private static DeviceException failure(Decoder in) throws WireFormatException {
    ErrorStatus status = in.constant(ErrorStatus.values());
    if (status == ErrorStatus.NONE) {
      throw new WireFormatException("a failure with the status NONE");
    }
    return new DeviceException(status, in.text(), in.optional(ExecutionCodec::duration), null);
  }

  /** Ends the connection, where it has not ended yet: all who wait are informed why. */
  public void end(String why) {
    if (!end.compareAndSet(null, why)) {
      return;
    }
    outgoing.add(END);
    closeChannel();
    pending.keySet().forEach(this::lose);
    receiver.closed(why);
  }

  private void lose(long call) {
    PendingReply reply = pending.remove(call);
    if (reply != null) {
      reply.fail(gone(end.get()));
    }
  }

  private void closeChannel() {
    try {
      channel.close();
    } catch (IOException e) {
      // Nothing can be done about it, and nothing depends on it: the process is ended as well.
      return;
    }
  }

  /** Ends the connection and its threads; called by one of them, waits for the other only. */
  @Override
  public void close() {
    end("it is closed");
    Joining.join(reader, FOREVER);
    Joining.join(writer, FOREVER);
  }
}
