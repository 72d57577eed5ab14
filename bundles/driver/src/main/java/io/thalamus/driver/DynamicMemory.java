// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory for values whose size is known only while executing; nothing is taken before it is needed.
 * Used by one thread; what was taken is given back when it is closed.
 */
final class DynamicMemory implements AutoCloseable {
  private Arena arena;

  /**
   * Bytes of any content.
   *
   * @throws StoppedException where the machine has not that much
   */
  MemorySegment allocate(long bytes) {
    if (arena == null) {
      arena = Arena.ofConfined();
    }
    return NativeMemory.allocate(arena, bytes);
  }

  @Override
  public void close() {
    if (arena != null) {
      arena.close();
      arena = null;
    }
  }
}
