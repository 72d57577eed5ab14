// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;

/**
 * The memories of one running execution: for inputs, for outputs and for values between steps. Used
 * by one thread at a time; owned by the {@link ScratchPool}.
 */
final class Scratch implements AutoCloseable {
  private SharedMemory inputs;
  private SharedMemory outputs;
  private SharedMemory temporaries;

  /** Makes each memory at least this large; what is large enough stays. */
  void reserve(long inputBytes, long outputBytes, long temporaryBytes) {
    inputs = atLeast(inputs, inputBytes);
    outputs = atLeast(outputs, outputBytes);
    temporaries = atLeast(temporaries, temporaryBytes);
  }

  /** Makes the temporaries at least this large. */
  void reserveTemporaries(long bytes) {
    temporaries = atLeast(temporaries, bytes);
  }

  private static SharedMemory atLeast(SharedMemory memory, long bytes) {
    if (bytes == 0 || (memory != null && memory.size() >= bytes)) {
      return memory;
    }
    SharedMemory larger = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    if (memory != null) {
      memory.close();
    }
    return larger;
  }

  /** Null where none was reserved. */
  SharedMemory inputs() {
    return inputs;
  }

  /** Null where none was reserved. */
  SharedMemory outputs() {
    return outputs;
  }

  /** Null where none was reserved. */
  SharedMemory temporaries() {
    return temporaries;
  }

  @Override
  public void close() {
    for (SharedMemory memory : new SharedMemory[] {inputs, outputs, temporaries}) {
      if (memory != null) {
        memory.close();
      }
    }
    inputs = null;
    outputs = null;
    temporaries = null;
  }
}
