// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The memories of one running execution: for inputs, for outputs and for values between steps. Used
 * by one thread at a time; owned by the {@link ScratchPool}.
 */
final class Scratch implements AutoCloseable {
  private final Pool inputs = new Pool();
  private final Pool outputs = new Pool();
  private final Pool temporaries = new Pool();

  /** Makes each memory at least this large; what is large enough stays. */
  void reserve(long inputBytes, long outputBytes, long temporaryBytes) {
    atLeast(inputs, inputBytes);
    atLeast(outputs, outputBytes);
    atLeast(temporaries, temporaryBytes);
  }

  /** Makes the temporaries at least this large. */
  void reserveTemporaries(long bytes) {
    atLeast(temporaries, bytes);
  }

  private static void atLeast(Pool pool, long bytes) {
    SharedMemory old = pool.memory();
    if (bytes == 0 || (old != null && old.size() >= bytes)) {
      return;
    }
    pool.exchange(SharedMemory.allocate(MemoryKind.ASHMEM, bytes));
    if (old != null) {
      old.close();
    }
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
