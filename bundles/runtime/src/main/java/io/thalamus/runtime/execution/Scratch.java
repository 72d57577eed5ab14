// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.runtime.plan.PreparedStep;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/**
 * The memories of one running execution: for copies of inputs and of outputs, where there are any,
 * and for values between steps. With them, those of a burst keep its requests, which are the same
 * for the next execution if its arguments are. Used by one thread at a time; owned by the {@link
 * ScratchPool}.
 */
final class Scratch implements AutoCloseable {
  private final Pool inputs = new Pool();
  private final Pool outputs = new Pool();
  private final Pool temporaries = new Pool();

  /**
   * The steps that were sent last with these memories, and their requests, by index of the step.
   */
  private PreparedStep[] steps = {};

  private Request[] requests = {};

  /** Returns the last request of a step over these memories; null if there is none. */
  Request request(PreparedStep step) {
    int index = step.step().index();
    return index < steps.length && steps[index] == step ? requests[index] : null;
  }

  /** Keeps the request of a step for the next execution, unless it names what a device owns. */
  void keep(PreparedStep step, Request request) {
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Device) {
        return;
      }
    }
    int index = step.step().index();
    if (index >= steps.length) {
      steps = Arrays.copyOf(steps, index + 1);
      requests = Arrays.copyOf(requests, index + 1);
    }
    steps[index] = step;
    requests[index] = request;
  }

  /**
   * Moves everything to fresh memory, since a device that was given up may still write to the old
   * one. That is closed, and unmapped when the device returns.
   */
  void renew() {
    for (Pool pool : List.of(inputs, outputs, temporaries)) {
      SharedMemory old = pool.memory();
      if (old != null) {
        SharedMemory fresh = SharedMemory.allocate(MemoryKind.ASHMEM, old.size());
        MemorySegment.copy(old.segment(), 0, fresh.segment(), 0, old.size());
        pool.exchange(fresh);
        old.close();
      }
    }
  }

  Pool inputs() {
    return inputs;
  }

  Pool outputs() {
    return outputs;
  }

  Pool temporaries() {
    return temporaries;
  }

  @Override
  public void close() {
    for (Pool pool : List.of(inputs, outputs, temporaries)) {
      SharedMemory memory = pool.memory();
      if (memory != null) {
        pool.exchange(null);
        memory.close();
      }
    }
  }
}
