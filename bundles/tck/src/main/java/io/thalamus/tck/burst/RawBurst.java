// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.burst.queue.MessageQueue;
import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Expect;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A client of one burst that sends packets as they are, malformed ones too. Used by one thread, but
 * for the memories in its slots, which the server asks for in a thread of its own. Owns the queues
 * and the context, which end with it; borrows model and memories.
 */
final class RawBurst implements AutoCloseable {
  private final MessageQueue requests;
  private final MessageQueue results;
  private final Duration limit;
  private final int version;
  private final BurstConfig config;
  private final Map<Integer, SharedMemory> memories = new ConcurrentHashMap<>();
  private final Queue<List<Integer>> asked = new ConcurrentLinkedQueue<>();
  private volatile BurstCallback callback = this::memories;
  private BurstContext context;
  private boolean isSilent;
  private boolean isClosed;

  private RawBurst(BurstConfig.Protocol protocol, int resultLength, Duration limit) {
    this.limit = limit;
    version = protocol instanceof BurstConfig.Hal12 ? 1 : 2;
    requests = MessageQueue.allocate(BurstSettings.DEFAULT_QUEUE_LENGTH, Datum.BYTES);
    results = MessageQueue.allocate(resultLength, Datum.BYTES);
    config =
        new BurstConfig(
            this::getMemories,
            new QueueDescriptor(requests.memory(), requests.capacity(), Datum.BYTES),
            new QueueDescriptor(results.memory(), results.capacity(), Datum.BYTES),
            protocol,
            BurstConfig.DEFAULT_POLL_WINDOW);
  }

  /**
   * Opens a burst that the model serves itself, or that the service serves by the model's
   * synchronous execution.
   *
   * @param resultLength elements of the queue of results
   * @param limit for an answer
   */
  static RawBurst open(
      BurstService service,
      PreparedModel model,
      BurstConfig.Protocol protocol,
      int resultLength,
      Duration limit)
      throws DeviceException {
    RawBurst burst = new RawBurst(protocol, resultLength, limit);
    try {
      burst.context = configure(service, model, burst.config);
      return burst;
    } finally {
      if (burst.context == null) {
        burst.close();
      }
    }
  }

  /** Has a model serve a burst itself if it can, else the service. */
  static BurstContext configure(BurstService service, PreparedModel model, BurstConfig config)
      throws DeviceException {
    try {
      return model.configureExecutionBurst(config);
    } catch (DeviceException e) {
      if (e.status() != ErrorStatus.GENERAL_FAILURE) {
        throw e;
      }
      return service.serve(config, model);
    }
  }

  /** Returns whether the last packet had no answer. */
  boolean isSilent() {
    return isSilent;
  }

  /** The memories by their slots, of which the server is informed when it asks. */
  Map<Integer, SharedMemory> memories() {
    return memories;
  }

  /** Returns the slots of each call that the server made, and forgets them. */
  List<List<Integer>> takeAsked() {
    List<List<Integer>> taken = List.copyOf(asked);
    asked.clear();
    return taken;
  }

  /** Has another callback answer the server; null for the memories again. */
  void setCallback(BurstCallback value) {
    callback = value == null ? this::memories : value;
  }

  private List<SharedMemory> getMemories(int[] slots) throws DeviceException {
    asked.add(Arrays.stream(slots).boxed().toList());
    return callback.getMemories(slots);
  }

  private List<SharedMemory> memories(int[] slots) throws DeviceException {
    for (int slot : slots) {
      if (!memories.containsKey(slot)) {
        throw DeviceException.invalid("slot " + slot + " holds nothing");
      }
    }
    return Arrays.stream(slots).mapToObj(memories::get).toList();
  }

  /** Has the server let go of the memory in a slot. */
  void freeMemory(int slot) {
    memories.remove(slot);
    context.freeMemory(slot);
  }

  ResultPacket exchange(List<Datum> packet) {
    send(packet);
    return receive();
  }

  void send(List<Datum> packet) {
    Expect.that(
        requests.write(MemorySegment.ofArray(Datum.encode(packet)), packet.size()),
        "the server has not read the packets before: there is no room for another one");
  }

  /** Receives the result of the oldest packet that was sent and not received. */
  ResultPacket receive() {
    byte[] head = new byte[Datum.BYTES];
    long nanos = limit.toNanos();
    long poll = BurstConfig.DEFAULT_POLL_WINDOW.toNanos();
    isSilent = !results.awaitReadable(1, poll, nanos);
    Expect.that(!isSilent, "a packet had no answer within " + limit);
    results.read(MemorySegment.ofArray(head), 1);
    int size = ResultPacket.size(head);
    Expect.that(
        size > 1 && size <= results.capacity(),
        "the result says that it has " + size + " elements");
    byte[] rest = new byte[Datum.BYTES * (size - 1)];
    Expect.that(
        results.read(MemorySegment.ofArray(rest), size - 1),
        "the result was not written as a whole: of " + size + " elements, some are missing");
    byte[] all = Arrays.copyOf(head, Datum.BYTES * size);
    System.arraycopy(rest, 0, all, Datum.BYTES, rest.length);
    return ResultPacket.parse(all, version);
  }

  /** Expects that there is no further result. */
  void expectNoMore() {
    Expect.that(results.availableToRead() == 0, "there are more results than requests");
  }

  @Override
  public void close() {
    if (isClosed) {
      return;
    }
    isClosed = true;
    if (context != null) {
      context.close();
    }
    requests.close();
    results.close();
  }
}
