// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;

/** Memory for arguments by pointer, which grows as it is needed. Used by one thread at a time. */
final class Scratch implements AutoCloseable {
  /** Null before it is needed. */
  private SharedMemory memory;

  /**
   * Returns memory of at least this size; what it was before is closed if it was smaller.
   *
   * @throws io.thalamus.memory.SharedMemoryException.Exhausted if there is no room
   */
  SharedMemory ofSize(long size) {
    if (memory == null || memory.size() < size) {
      close();
      memory = SharedMemory.allocate(MemoryKind.ASHMEM, size);
    }
    return memory;
  }

  @Override
  public void close() {
    if (memory != null) {
      memory.close();
      memory = null;
    }
  }
}
