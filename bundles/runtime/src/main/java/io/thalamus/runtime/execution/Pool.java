// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.runtime.domain.MemoryBinding;
import java.lang.foreign.MemorySegment;

/**
 * A memory that holds values of an execution, and can be exchanged under them: one that any device
 * can map, one made for this argument, which may be on a device, or the caller's own ({@link
 * CallerPool}). Used by the one thread that executes.
 */
class Pool {
  private final MemoryBinding use;
  private SharedMemory memory;
  private long version;

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

  /** Returns the memory made for an argument; null where it is none. */
  final MemoryBinding use() {
    return use;
  }

  /** Returns the memory that devices map. */
  SharedMemory memory() {
    return use == null ? memory : use.shared();
  }

  /** Returns where the values begin in {@link #memory}. */
  long base() {
    return 0;
  }

  /** Returns the bytes of the values. */
  MemorySegment segment() {
    return memory().segment();
  }

  /** Returns how often its memory has been exchanged. */
  final long version() {
    return version;
  }

  /** Puts another memory in place of this one. */
  final void exchange(SharedMemory other) {
    memory = other;
    version++;
  }

  /** Makes the memory at least this large; one that is large enough stays. */
  final void reserve(long bytes) {
    SharedMemory old = memory;
    if (bytes == 0 || (old != null && old.size() >= bytes)) {
      return;
    }
    exchange(SharedMemory.allocate(MemoryKind.ASHMEM, bytes));
    if (old != null) {
      old.close();
    }
  }
}
