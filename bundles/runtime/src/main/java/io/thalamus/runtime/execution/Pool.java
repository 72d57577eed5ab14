// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;

/**
 * A memory that values of an execution stand in, which can be exchanged under them. Used by the one
 * thread that executes.
 */
final class Pool {
  private SharedMemory memory;

  /** A pool over this memory; null for none yet. */
  Pool(SharedMemory memory) {
    this.memory = memory;
  }

  SharedMemory memory() {
    return memory;
  }

  MemorySegment segment() {
    return memory.segment();
  }

  void exchange(SharedMemory other) {
    memory = other;
  }
}
