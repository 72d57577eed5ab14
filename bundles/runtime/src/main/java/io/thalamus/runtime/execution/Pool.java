// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.SharedMemory;
import io.thalamus.runtime.domain.MemoryBinding;
import java.lang.foreign.MemorySegment;

/**
 * A memory that values of an execution stand in, which can be exchanged under them: one that any
 * device can map, or one made for this argument, which may stand on a device. Used by the one
 * thread that executes.
 */
final class Pool {
  private final MemoryBinding use;
  private SharedMemory memory;

  /** A pool without memory yet. */
  Pool() {
    this.use = null;
  }

  /** A pool over this memory. */
  Pool(SharedMemory memory) {
    this.memory = memory;
    this.use = null;
  }

  /** A pool over a memory made for an argument. */
  Pool(MemoryBinding use) {
    this.use = use;
  }

  /** The memory made for an argument; null where it is none. */
  MemoryBinding use() {
    return use;
  }

  SharedMemory memory() {
    return use == null ? memory : use.shared();
  }

  MemorySegment segment() {
    return memory().segment();
  }

  void exchange(SharedMemory other) {
    memory = other;
  }
}
