// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.burst.packet.ControlPage;
import io.thalamus.burst.packet.Datums;
import io.thalamus.burst.packet.RequestDecoder;
import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Version2;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * The execution of packets by an executor, with the memories behind slots. Used by the thread of
 * the server, but for {@link #freeMemory}, which any thread may call.
 *
 * <p>The requests of the last packets are remembered: an equal packet gives the same request, and
 * nothing is allocated.
 */
final class RequestRunner {
  /** The number of remembered requests: a pipeline of frames has a few that take turns. */
  private static final int REMEMBERED = 8;

  private static final Failed MALFORMED =
      new Failed(ErrorStatus.GENERAL_FAILURE, "the packet is malformed");
  private static final Failed NO_SUCH_REQUEST =
      new Failed(
          ErrorStatus.INVALID_ARGUMENT, "an argument has dimensions that cannot be, or a place");
  private static final Failed CANCELLED =
      new Failed(ErrorStatus.GENERAL_FAILURE, "the execution was cancelled");

  private final BurstCallback callback;
  private final IntFunction<DeviceBuffer> buffers;
  private final BurstExecutor executor;
  private final ControlPage page;
  private final BurstServer.Control control;
  private final Known[] known = new Known[REMEMBERED];
  private int next;

  /** Held while memories are looked up and used, and while one is removed. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Guarded by the lock. */
  private final Map<Integer, SharedMemory> memories = new HashMap<>();

  /** Slots that are to be freed as soon as nothing is executed. */
  private final Queue<Integer> freed = new ConcurrentLinkedQueue<>();

  RequestRunner(
      BurstConfig config,
      BurstExecutor executor,
      ControlPage page,
      int version,
      BurstServer.Control control) {
    this.callback = config.callback();
    this.buffers = config.protocol() instanceof Version2 v2 ? v2.buffers() : token -> null;
    this.executor = executor;
    this.page = page;
    this.control = control;
    for (int i = 0; i < known.length; i++) {
      known[i] = new Known(new RequestDecoder(version, control));
    }
  }

  /** A request that was executed, with what it was made from. */
  private static final class Known {
    private final RequestDecoder decoder;

    /** Null unless all below is true of the packet that the decoder remembers. */
    private Request request;

    private int[] slots = new int[0];

    /** A SharedMemory or a DeviceBuffer for each pool. */
    private Object[] pools = new Object[0];

    Known(RequestDecoder decoder) {
      this.decoder = decoder;
    }

    void forget() {
      request = null;
      pools = new Object[0];
    }
  }

  /** Executes a packet. Every failure is a result. */
  ExecutionResult run(Datums packet) {
    Known request = find(packet);
    switch (request.decoder.decode(packet)) {
      case NONE -> {
        // It can be executed.
      }
      case INVALID_ARGUMENT -> {
        return NO_SUCH_REQUEST;
      }
      default -> {
        return MALFORMED;
      }
    }
    lock.lock();
    try {
      removeFreed();
      return run(request);
    } finally {
      lock.unlock();
      if (!freed.isEmpty()) {
        freeMemory();
      }
    }
  }

  /** Returns the request of an equal packet, or the place for a new one. */
  private Known find(Datums packet) {
    for (int i = 0; i < known.length; i++) {
      Known candidate = known[(next + i) % known.length];
      if (candidate.decoder.isSameRequest(packet)) {
        return candidate;
      }
    }
    next = (next + known.length - 1) % known.length;
    known[next].forget();
    return known[next];
  }

  private ExecutionResult run(Known known) {
    try {
      Failed failure = resolve(known);
      if (failure != null) {
        return failure;
      }
      control.begin(known.decoder.config());
      if (control.checkpoint() == Signal.CANCELLED) {
        return CANCELLED;
      }
      page.countExecution();
      ExecutionResult result = executor.execute(known.request, known.slots, known.decoder.config());
      return result == null
          ? new Failed(ErrorStatus.GENERAL_FAILURE, "the device answered nothing")
          : result;
    } catch (Exception | Error e) {
      // A request of one client never ends the burst, whatever the driver does.
      return new Failed(ErrorStatus.GENERAL_FAILURE, "the device threw " + e);
    }
  }

  /** Finds all memories of a request; returns a failure where one is unknown. */
  private Failed resolve(Known known) {
    RequestDecoder decoder = known.decoder;
    if (isResolved(known)) {
      return null;
    }
    known.forget();
    Failed failure = fetch(decoder);
    if (failure != null) {
      return failure;
    }
    int count = decoder.poolCount();
    int[] slots = new int[count];
    Object[] found = new Object[count];
    List<MemoryPool> pools = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int id = decoder.pool(i);
      if (decoder.isToken(i)) {
        DeviceBuffer buffer = buffers.apply(id);
        if (buffer == null) {
          return invalid("pool %d names no buffer of this client: token %d", i, id);
        }
        slots[i] = -1;
        found[i] = buffer;
        pools.add(new MemoryPool.Device(buffer));
      } else {
        SharedMemory memory = memories.get(id);
        if (memory == null) {
          return invalid("pool %d names a slot without memory: %d", i, id);
        }
        slots[i] = id;
        found[i] = memory;
        pools.add(new MemoryPool.Shared(memory));
      }
    }
    known.slots = slots;
    known.pools = found;
    known.request = new Request(decoder.inputs(), decoder.outputs(), pools);
    return null;
  }

  /**
   * Returns whether the memories of a request are those that it was resolved to: slots that were
   * freed since have it forgotten, but buffers come and go without a word.
   */
  private boolean isResolved(Known known) {
    boolean isResolved = known.request != null;
    for (int i = 0; i < known.pools.length && isResolved; i++) {
      isResolved =
          !known.decoder.isToken(i) || buffers.apply(known.decoder.pool(i)) == known.pools[i];
    }
    return isResolved;
  }

  private static Failed invalid(String format, int pool, int id) {
    return new Failed(ErrorStatus.INVALID_ARGUMENT, format.formatted(pool, id));
  }

  /**
   * Asks once for the memories of all slots that the executor does not keep. Returns a failure,
   * with the client's reason, where it does not give them.
   */
  private Failed fetch(RequestDecoder decoder) {
    int[] unknown =
        IntStream.range(0, decoder.poolCount())
            .filter(i -> !decoder.isToken(i))
            .map(decoder::pool)
            .distinct()
            .filter(slot -> !executor.isCacheEntryPresent(slot))
            .toArray();
    if (unknown.length == 0) {
      return null;
    }
    for (int slot : unknown) {
      memories.remove(slot);
    }
    try {
      List<SharedMemory> found = callback.getMemories(unknown);
      if (found.size() != unknown.length || found.contains(null)) {
        throw DeviceException.invalid("the client answered with other memories than it has");
      }
      for (int i = 0; i < unknown.length; i++) {
        executor.addCacheEntry(found.get(i), unknown[i]);
        memories.put(unknown[i], found.get(i));
      }
      page.countSlots(unknown.length);
      return null;
    } catch (DeviceException | RuntimeException e) {
      return new Failed(
          ErrorStatus.INVALID_ARGUMENT, "the memories of the burst cannot be had: " + e);
    }
  }

  /** Lets go of the memory in a slot: now, or at the end of the execution that is under way. */
  void freeMemory(int slot) {
    freed.add(slot);
    freeMemory();
  }

  /**
   * Removes what is to be freed unless something is executed. The executing thread looks again
   * after it has released the lock, so that one of the two threads removes it.
   */
  private void freeMemory() {
    if (lock.tryLock()) {
      try {
        removeFreed();
      } finally {
        lock.unlock();
      }
    }
  }

  /** Removes what is to be freed. The lock is held. */
  private void removeFreed() {
    for (Integer slot = freed.poll(); slot != null; slot = freed.poll()) {
      if (memories.remove(slot) != null) {
        remove(slot);
        for (Known request : known) {
          request.forget();
        }
      }
    }
  }

  private void remove(int slot) {
    try {
      executor.removeCacheEntry(slot);
    } catch (RuntimeException | Error e) {
      BurstServer.log().log(Level.WARNING, "a driver failed to let go of a memory of a burst", e);
    }
  }

  /** Lets go of all memories, and has the executor do so with what it keeps. */
  void close() {
    lock.lock();
    try {
      memories.keySet().forEach(this::remove);
      memories.clear();
    } finally {
      lock.unlock();
    }
    try {
      executor.ended();
    } catch (RuntimeException | Error e) {
      BurstServer.log().log(Level.WARNING, "a driver failed to end a burst", e);
    }
  }
}
