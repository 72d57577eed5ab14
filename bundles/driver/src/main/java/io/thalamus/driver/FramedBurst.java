// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.burst.BurstExecutor;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The executions of one burst of a {@link FramedPreparedModel}. Keeps the memories in slots, a
 * frame, and what it derived from the last requests, so that the same request again is neither
 * checked nor bound again, and nothing is allocated for it. Buffers of the device are not kept:
 * they belong to the client, who may close them at any time.
 *
 * <p>Used by one thread at a time, but for {@link #ended}, which any thread may call: what is kept
 * is then let go, at once or when the execution under way ends, and further executions fail.
 */
final class FramedBurst<F> implements BurstExecutor {
  /** The number of remembered requests: frames that are under way at once take turns. */
  private static final int REMEMBERED = 8;

  private final FramedPreparedModel<F> model;
  private final Map<Integer, SharedMemory.Lease> leases = new HashMap<>();

  /** Counts calls under way, so that none finds the memories gone in its midst. */
  private final ReferenceCount calls = new ReferenceCount(this::release);

  private F frame;

  /** The last requests that were found good; none after a slot was freed. */
  private final Bound[] bound = new Bound[REMEMBERED];

  /** The place of the request that is forgotten next. */
  private int next;

  /** A request and what was derived from it. */
  private record Bound(
      Request request, int[] slots, RequestBuffers buffers, RequestArguments arguments) {}

  FramedBurst(FramedPreparedModel<F> model) {
    this.model = model;
  }

  @Override
  public boolean isCacheEntryPresent(int slot) {
    if (!calls.retain()) {
      return false;
    }
    try {
      return leases.containsKey(slot);
    } finally {
      calls.release();
    }
  }

  /** Keeps nothing if the memory is closed: the slot stays unknown. */
  @Override
  public void addCacheEntry(SharedMemory memory, int slot) {
    if (!calls.retain()) {
      return;
    }
    try {
      remove(slot);
      leases.put(slot, memory.lend());
    } catch (IllegalStateException e) {
      // Its owner closed it after sending the request, which ends with INVALID_ARGUMENT.
      return;
    } finally {
      calls.release();
    }
  }

  @Override
  public void removeCacheEntry(int slot) {
    if (calls.retain()) {
      try {
        remove(slot);
      } finally {
        calls.release();
      }
    }
  }

  private void remove(int slot) {
    SharedMemory.Lease lease = leases.remove(slot);
    if (lease != null) {
      Arrays.fill(bound, null);
      lease.close();
    }
  }

  @Override
  public ExecutionResult execute(Request request, int[] slots, ExecutionConfig config) {
    long start = FramedPreparedModel.startNanos(config);
    if (!calls.retain()) {
      return closed();
    }
    try {
      Bound one = bind(request, slots);
      try (RequestBuffers used = one.buffers.use()) {
        used.begin();
        Failed late = FramedPreparedModel.late(config);
        if (late != null) {
          return late;
        }
        return used.end(execute(one, config, start));
      }
    } catch (DeviceException e) {
      return new Failed(e.status(), e.getMessage());
    } finally {
      calls.release();
    }
  }

  private ExecutionResult execute(Bound one, ExecutionConfig config, long start)
      throws DeviceException {
    if (frame == null) {
      try {
        frame = model.takeFrame();
      } catch (StoppedException e) {
        return e.failed();
      }
      if (frame == null) {
        return closed();
      }
    }
    return model.execute(frame, one.arguments, one.buffers, config, start);
  }

  private static Failed closed() {
    return new Failed(ErrorStatus.GENERAL_FAILURE, "the burst or its prepared model is closed");
  }

  /** Finds what was derived from a request, or checks it and finds its arguments. */
  private Bound bind(Request request, int[] slots) throws DeviceException {
    for (Bound one : bound) {
      if (one != null && one.request == request && Arrays.equals(one.slots, slots)) {
        return one;
      }
    }
    FramedPreparedModel.requireNoPointers("a burst", request);
    checkSlots(request, slots);
    RequestBuffers buffers = model.findBuffers(request);
    Bound one = new Bound(request, slots.clone(), buffers, model.arguments(request, buffers));
    if (!buffers.areOpen()) {
      // Buffers of unknown dimensions have others next time.
      bound[next] = one;
      next = (next + 1) % REMEMBERED;
    }
    return one;
  }

  /** Checks that the memory of each pool is the one that its slot keeps mapped. */
  private void checkSlots(Request request, int[] slots) throws DeviceException {
    List<MemoryPool> pools = request.pools();
    for (int i = 0; i < pools.size(); i++) {
      boolean isKept =
          switch (pools.get(i)) {
            case MemoryPool.Device _ -> true;
            case MemoryPool.Shared shared -> isKept(shared.memory(), i, slots);
          };
      if (!isKept) {
        throw DeviceException.invalid(
            "pool " + i + " of the request is in a slot that holds no memory");
      }
    }
  }

  private boolean isKept(SharedMemory memory, int pool, int[] slots) {
    SharedMemory.Lease lease = pool < slots.length ? leases.get(slots[pool]) : null;
    return lease != null && lease.memory() == memory;
  }

  /** Ends the burst; calling it again does nothing. */
  @Override
  public void ended() {
    calls.close();
  }

  private void release() {
    Arrays.fill(bound, null);
    leases.values().forEach(SharedMemory.Lease::close);
    leases.clear();
    if (frame != null) {
      model.releaseFrame(frame);
      frame = null;
    }
    model.ended(this);
  }
}
