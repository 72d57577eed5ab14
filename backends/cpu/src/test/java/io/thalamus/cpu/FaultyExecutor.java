// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.burst.BurstExecutor;
import io.thalamus.cpu.FaultyBurstDevice.Fault;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Version2;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** An executor that keeps the memories of slots, and breaks one rule. Used by one thread. */
final class FaultyExecutor implements BurstExecutor {
  private static final int FEW_SLOTS = 8;

  /** The place in a control page that says which requests are cancelled. */
  private static final long CANCELLED = 0;

  private final Fault fault;
  private final PreparedModel model;
  private final BurstConfig burst;
  private final Map<Integer, SharedMemory.Lease> leases = new HashMap<>();
  private final Map<Integer, SharedMemory> stale = new HashMap<>();
  private Request lastRequest;
  private int[] lastSlots = new int[0];
  private volatile boolean isClosing;

  FaultyExecutor(Fault fault, PreparedModel model, BurstConfig burst) {
    this.fault = fault;
    this.model = model;
    this.burst = burst;
  }

  @Override
  public boolean isCacheEntryPresent(int slot) {
    return leases.containsKey(slot);
  }

  @Override
  public void addCacheEntry(SharedMemory memory, int slot) {
    removeCacheEntry(slot);
    leases.put(slot, memory.lend());
    stale.putIfAbsent(key(slot), memory);
  }

  private int key(int slot) {
    return fault == Fault.CONFUSES_SLOTS ? slot % FEW_SLOTS : slot;
  }

  @Override
  public void removeCacheEntry(int slot) {
    SharedMemory.Lease lease = leases.remove(slot);
    if (fault != Fault.KEEPS_STALE_MEMORY) {
      stale.remove(key(slot));
    }
    boolean isKept =
        fault == Fault.KEEPS_STALE_MEMORY
            || fault == Fault.KEEPS_FREED_MEMORY_MAPPED && !isClosing
            || fault == Fault.KEEPS_MEMORY_MAPPED_AFTER_CLOSING && isClosing;
    if (lease != null && !isKept) {
      lease.close();
    }
  }

  /** Told before the burst is closed, when all entries are removed. */
  void closing() {
    isClosing = true;
  }

  @Override
  public ExecutionResult execute(Request request, int[] slots, ExecutionConfig config) {
    Request changed = request;
    switch (fault) {
      case KEEPS_STALE_MEMORY, CONFUSES_SLOTS -> changed = stale(request, slots);
      case REUSES_THE_REQUEST_OF_THE_SAME_SLOTS -> {
        changed = Arrays.equals(slots, lastSlots) ? lastRequest : request;
        lastRequest = changed;
        lastSlots = slots.clone();
      }
      default -> {}
    }
    if (fault == Fault.CANCELS_FOR_EVER && isAnyCancelled()) {
      return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, "cancelled");
    }
    if (fault == Fault.MISSES_ALL_DEADLINES && config.deadline().isSet()) {
      return new ExecutionResult.Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "late");
    }
    ExecutionResult result = model.execute(changed, changed(config));
    return changed(result, request);
  }

  private Request stale(Request request, int[] slots) {
    List<MemoryPool> pools = new ArrayList<>(request.pools());
    for (int i = 0; i < slots.length; i++) {
      if (slots[i] >= 0) {
        pools.set(i, new MemoryPool.Shared(stale.get(key(slots[i]))));
      }
    }
    return new Request(request.inputs(), request.outputs(), pools);
  }

  private boolean isAnyCancelled() {
    return burst.protocol() instanceof Version2 version2
        && version2.control().segment().get(ValueLayout.JAVA_LONG, CANCELLED) > 0;
  }

  private ExecutionConfig changed(ExecutionConfig config) {
    return switch (fault) {
      case IGNORES_CANCELLATION -> config.with(deaf(config.control(), Signal.CANCELLED));
      case IGNORES_DEADLINES ->
          config.with(Deadline.NONE).with(deaf(config.control(), Signal.DEADLINE));
      case IGNORES_LOOP_TIMEOUTS -> config.withLoopTimeout(ExecutionConfig.DEFAULT_LOOP_TIMEOUT);
      default -> config;
    };
  }

  private static ExecutionControl deaf(ExecutionControl control, Signal signal) {
    return () -> {
      Signal told = control.checkpoint();
      return told == signal ? Signal.CONTINUE : told;
    };
  }

  private ExecutionResult changed(ExecutionResult result, Request request) {
    if (fault == Fault.LOSES_SHAPES) {
      return switch (result) {
        case ExecutionResult.Completed completed ->
            new ExecutionResult.Completed(List.of(), completed.timing());
        case ExecutionResult.OutputInsufficientSize _ ->
            new ExecutionResult.OutputInsufficientSize(List.of());
        case ExecutionResult.Failed failed -> failed;
      };
    }
    if (fault == Fault.COMPUTES_SOMETHING_ELSE
        && result instanceof ExecutionResult.Completed
        && request.outputs().getFirst() instanceof Request.Location place
        && request.pools().get(place.pool()) instanceof MemoryPool.Shared shared) {
      MemorySegment output = shared.memory().segment();
      byte right = output.get(ValueLayout.JAVA_BYTE, place.offset());
      output.set(ValueLayout.JAVA_BYTE, place.offset(), (byte) (right ^ 1));
    }
    return result;
  }
}
