// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
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

  /** Small ones share pieces of memory, which threads take parts of at the same time. */
  @Test
  void smallOnesAreZeroAndApart() throws Exception {
    List<MemorySegment> all = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int thread = 1; thread <= 4; thread++) {
      byte mark = (byte) thread;
      threads.add(Thread.ofPlatform().start(() -> allocate(mark, all)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(4 * 3000, all.size());
    all.sort(Comparator.comparingLong(MemorySegment::address));
    long end = 0;
    for (MemorySegment each : all) {
      assertEquals(0, each.address() % 64);
      assertTrue(each.address() >= end, "two tensors overlap");
      end = each.address() + each.byteSize();
    }
  }

  private static void allocate(byte mark, List<MemorySegment> all) {
    for (int i = 0; i < 3000; i++) {
      MemorySegment next = TensorMemory.allocate(i % 1100);
      if (next.mismatch(MemorySegment.ofArray(new byte[i % 1100])) >= 0) {
        return;
      }
      next.fill(mark);
      all.add(next);
    }
  }
}
