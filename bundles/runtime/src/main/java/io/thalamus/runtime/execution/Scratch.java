// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.BulkCopy;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import java.util.List;

/**
 * The memories of one running execution: for copies of inputs and of outputs, where there are any,
 * and for values between steps. Used by one thread at a time; owned by a {@link ScratchPool} or a
 * {@link BurstPlace}.
 */
final class Scratch implements AutoCloseable {
  private final Pool inputs = new Pool();
  private final Pool outputs = new Pool();
  private final Pool temporaries = new Pool();

  /**
   * Moves everything to fresh memory, since a device that was given up may still write to the old
   * one. That is closed, and unmapped when the device returns.
   */
  void renew() {
    for (Pool pool : List.of(inputs, outputs, temporaries)) {
      SharedMemory old = pool.memory();
      if (old != null) {
        SharedMemory fresh = SharedMemory.allocate(MemoryKind.ASHMEM, old.size());
        BulkCopy.copy(old.segment(), 0, fresh.segment(), 0, old.size());
        pool.exchange(fresh);
        old.close();
      }
    }
  }

  /** Returns a number that is another one as soon as one of the memories is another one. */
  long version() {
    return inputs.version() + outputs.version() + temporaries.version();
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
