// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import org.junit.jupiter.api.Test;

/** The memory of tensors that nobody refers to any more. */
class TensorMemoryTest {
  private static final long BYTES = 1 << 20;

  /** The JVM alone collects when the bytes outside reach the most that the heap may have. */
  @Test
  void isCollectedBeforeItReachesTheLimitOfTheHeap() {
    long limit = Runtime.getRuntime().maxMemory() / 8 * 7;
    WeakReference<MemorySegment.Scope> first =
        new WeakReference<>(TensorMemory.allocate(BYTES).scope());
    long allocated = BYTES;
    while (!first.refersTo(null) && allocated < limit) {
      TensorMemory.allocate(BYTES);
      allocated += BYTES;
    }
    assertTrue(first.refersTo(null), allocated + " bytes were allocated without a collection");
  }

  @Test
  void staysWhileOneRefersToAPartOfIt() {
    MemorySegment part = TensorMemory.allocate(BYTES).asSlice(BYTES - 8);
    part.set(ValueLayout.JAVA_LONG, 0, 5);
    for (long allocated = 0; allocated < 200 * BYTES; allocated += BYTES) {
      TensorMemory.allocate(BYTES).fill((byte) -1);
    }
    assertEquals(5, part.get(ValueLayout.JAVA_LONG, 0));
  }
}
