// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.wire.Connection;
import io.thalamus.isolation.wire.DeviceCodec;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.WireFormatException;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/**
 * The connection to the process of a device, with what the process says by itself: that its device
 * is ready, what became of cache files, and which memories the clients of its bursts have.
 * Thread-safe. Owns the connection and the threads that ask clients, which may wait for calls of
 * their own.
 */
public final class HostMessages implements Connection.Receiver, AutoCloseable {
  private final Connection connection;
  private final CacheTransfers caches;
  private final Consumer<String> onEnd;
  private final CompletableFuture<Ready> ready = new CompletableFuture<>();
  private final Map<Integer, RemoteBurst> bursts = new ConcurrentHashMap<>();
  private final ExecutorService threads;

  /** The description of the device by its process. */
  public record Ready(Map<String, Object> properties, DeviceInfo info) {}

  /**
   * Listens to a process.
   *
   * @param channel is connected to it, and this one's from now on
   * @param name what the names of threads begin with
   * @param caches stays owned by the caller
   * @param onEnd learns why the connection has ended, once
   */
  public HostMessages(
      SocketChannel channel, String name, CacheTransfers caches, Consumer<String> onEnd) {
    this.caches = caches;
    this.onEnd = onEnd;
    this.connection = new Connection(channel, name, this);
    this.threads =
        Executors.newCachedThreadPool(
            work -> Thread.ofPlatform().daemon().name(name + "-bursts").unstarted(work));
  }

  /** Begins to listen. */
  public void start() {
    connection.start();
  }

  /** Returns the connection, which this owns. */
  public Connection connection() {
    return connection;
  }

  /** Returns what the process says of its device, once it has; fails where it ends before. */
  public CompletableFuture<Ready> ready() {
    return ready;
  }

  CacheTransfers caches() {
    return caches;
  }

  void add(int id, RemoteBurst burst) {
    bursts.put(id, burst);
  }

  void remove(int id) {
    bursts.remove(id);
  }

  @Override
  public void receive(MessageType type, long call, Decoder body) throws WireFormatException {
    switch (type) {
      case READY ->
          ready.complete(
              body.all(in -> new Ready(DeviceCodec.properties(in), DeviceCodec.info(in))));
      case CACHE_CLOSED -> caches.closed(body.all(Decoder::int32));
      case CACHE_ABANDONED -> {
        int id = body.int32();
        caches.abandoned(id, body.all(Decoder::text));
      }
      case BURST_MEMORIES -> {
        int id = body.int32();
        int[] slots = body.all(Decoder::ints);
        answer(call, id, burst -> burst.memories(slots));
      }
      case BURST_BUFFER -> {
        int id = body.int32();
        int token = body.all(Decoder::int32);
        answer(call, id, burst -> new Encoder().bool(burst.knows(token)));
      }
      default -> throw new WireFormatException("it sent " + type);
    }
  }

  /** A question to the client of a burst. */
  @FunctionalInterface
  private interface Question {
    Encoder ask(RemoteBurst burst) throws DeviceException;
  }

  /** Answers in a thread of its own: a client may wait for the thread that reads the socket. */
  private void answer(long call, int id, Question question) {
    RemoteBurst burst = bursts.get(id);
    if (burst == null) {
      connection.fail(call, ErrorStatus.INVALID_ARGUMENT, "the burst is closed");
      return;
    }
    try {
      threads.execute(() -> answer(call, burst, question));
    } catch (RejectedExecutionException e) {
      connection.fail(call, ErrorStatus.GENERAL_FAILURE, "the container lets go of the device");
    }
  }

  private void answer(long call, RemoteBurst burst, Question question) {
    try {
      connection.reply(call, question.ask(burst));
    } catch (DeviceException e) {
      connection.fail(call, e.status(), e.getMessage(), e.retryAfter());
    } catch (RuntimeException e) {
      // The client's callback may throw anything; the device waits for an answer.
      connection.fail(call, ErrorStatus.GENERAL_FAILURE, e.toString());
    }
  }

  @Override
  public void closed(String why) {
    ready.completeExceptionally(new IOException(why));
    bursts.values().forEach(RemoteBurst::lost);
    onEnd.accept(why);
  }

  /** Ends the connection; the process has ended, or was never there. */
  @Override
  public void close() {
    connection.close();
    threads.shutdown();
    bursts.values().forEach(RemoteBurst::ended);
    bursts.clear();
  }
}
