// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory of tensors: off the heap, zeroed, freed by the garbage collector with the last
 * reference to it.
 *
 * <p>A collector starts when the heap is full, and does not see how much hangs outside on a few
 * small objects: a program that runs networks in a loop would hold gigabytes before the first
 * collection. When much was allocated since the last one, bytes are therefore allocated and dropped
 * on the heap too, first a quarter as many, then as many: the next collection of the young
 * generation comes nearly as early as if tensors were arrays. Thread-safe.
 */
final class TensorMemory {
  private static final long ALIGNMENT = 64;

  /**
   * Bytes between two collections that need no earlier one. The JVM collects everything, which
   * takes longest, when as many bytes as the heap may have are outside.
   */
  private static final long UNNOTICED = Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 8);

  /** Bytes on the heap that are dropped at a time: few enough to be allocated as small objects. */
  private static final int DROPPED = 16 << 10;

  /** Bytes since the last collection. */
  private static final AtomicLong ALLOCATED = new AtomicLong();

  /** Cleared by the next collection. */
  private static volatile WeakReference<Object> uncollected = new WeakReference<>(new Object());

  /** Read by nobody: what is stored here is really allocated. */
  private static volatile byte[] dropped;

  /** Bytes of a piece of memory that small tensors share, which is freed with the last of them. */
  private static final int SHARED = 8 << 10;

  /** Bytes of a tensor that shares, at most: an own piece of memory takes half a microsecond. */
  private static final int SMALL = SHARED / 8;

  private static volatile Piece piece = new Piece();

  private TensorMemory() {}

  /** A piece of memory that small tensors share. */
  private static final class Piece {
    private final MemorySegment memory = Arena.ofAuto().allocate(SHARED, ALIGNMENT);
    private final AtomicInteger taken = new AtomicInteger();
  }

  static MemorySegment allocate(long bytes) {
    if (bytes <= SMALL) {
      return small((int) bytes);
    }
    press(bytes);
    return Arena.ofAuto().allocate(bytes, ALIGNMENT);
  }

  private static MemorySegment small(int bytes) {
    int room = (int) (Math.max(1, bytes) + ALIGNMENT - 1 & -ALIGNMENT);
    while (true) {
      Piece current = piece;
      int at = current.taken.getAndAdd(room);
      if (at + room <= SHARED) {
        return current.memory.asSlice(at, bytes);
      }
      press(SHARED);
      piece = new Piece();
    }
  }

  /** Makes the next collection come early enough for so many bytes more. */
  private static void press(long bytes) {
    if (uncollected.refersTo(null)) {
      uncollected = new WeakReference<>(new Object());
      ALLOCATED.set(0);
    }
    long allocated = ALLOCATED.addAndGet(bytes);
    if (allocated > UNNOTICED) {
      // Not all at first: a small heap would be collected for each of a few large tensors.
      long own = allocated > 2 * UNNOTICED ? bytes : bytes / 4;
      for (long left = own; left > 0; left -= DROPPED) {
        dropped = new byte[(int) Math.min(left, DROPPED)];
      }
    }
  }
}
