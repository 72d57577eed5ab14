// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory for values whose size is known only during the execution; nothing is allocated before it
 * is needed. Used by one thread; closing it frees all that was allocated.
 */
final class DynamicMemory implements AutoCloseable {
  private Arena arena;

  /**
   * Allocates bytes of any content.
   *
   * @throws StoppedException if the machine has not that much
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
