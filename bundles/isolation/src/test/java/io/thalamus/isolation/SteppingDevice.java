// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.burst.BurstExecutor;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.driver.Checkpoint;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * A device that takes as many steps as the first element of memory 0 says, passes a checkpoint
 * before each, and leaves in the memory what it has done until now.
 */
final class SteppingDevice extends DelegatingDevice {
  static final long STEPS = 0;
  static final long DONE = 4;

  /** 1 where the execution was served by a burst. */
  static final long BY_BURST = 8;

  private static final long STEP_NANOS = 100_000;

  private final QueueBurstService bursts = new QueueBurstService();

  SteppingDevice() {
    super(new CpuDevice("1.0.0"));
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return new Stepping(super.prepare(model, config));
  }

  private final class Stepping extends DelegatingPreparedModel {
    Stepping(PreparedModel delegate) {
      super(SteppingDevice.this, delegate);
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      SharedMemory memory = ((MemoryPool.Shared) request.pools().get(0)).memory();
      MemorySegment words = memory.segment();
      boolean isByBurst = Thread.currentThread().getName().startsWith("burst-");
      words.set(ValueLayout.JAVA_INT, BY_BURST, isByBurst ? 1 : 0);
      long start = System.nanoTime();
      int steps = words.get(ValueLayout.JAVA_INT, STEPS);
      for (int i = 1; i <= steps; i++) {
        Failed stopped = Checkpoint.pass(config);
        if (stopped != null) {
          return stopped;
        }
        if (System.nanoTime() - start > config.loopTimeout().toNanos()) {
          return new Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "the loop timeout");
        }
        words.set(ValueLayout.JAVA_INT, DONE, i);
        LockSupport.parkNanos(STEP_NANOS);
      }
      return new Completed(List.of(new OutputShape(Shape.of(1), true)), Timing.NONE);
    }

    @Override
    public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
      Set<Integer> slots = new HashSet<>();
      return bursts.serve(
          config,
          new BurstExecutor() {
            @Override
            public boolean isCacheEntryPresent(int slot) {
              return slots.contains(slot);
            }

            @Override
            public void addCacheEntry(SharedMemory memory, int slot) {
              slots.add(slot);
            }

            @Override
            public void removeCacheEntry(int slot) {
              slots.remove(slot);
            }

            @Override
            public ExecutionResult execute(Request request, int[] places, ExecutionConfig terms) {
              return Stepping.this.execute(request, terms);
            }
          });
    }
  }
}
