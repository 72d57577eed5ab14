// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The memory of a queue as the package draws it: header, counters, elements. Thread-safe as far as
 * the memory is; owned by the queue, which releases it once.
 */
final class Ring {
  static final VarHandle COUNTER = ValueLayout.JAVA_LONG.varHandle();
  static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

  /** Longer than a cache line, since processors fetch neighbours in pairs. */
  static final long LINE = 128;

  static final long WRITTEN = LINE;
  static final long ELEMENTS = 4 * LINE;

  private static final long CAPACITY = 4;
  private static final long ELEMENT_SIZE = 8;
  private static final long PAGE = 4096;
  private static final int MAX_CAPACITY = 1 << 30;

  final SharedMemory memory;
  final MemorySegment segment;
  final int capacity;
  final int elementSize;
  private final long mask;

  /** Lets go of the memory; run once. */
  final Runnable release;

  private Ring(SharedMemory memory, int capacity, int elementSize, Runnable release) {
    this.memory = memory;
    this.segment = memory.segment();
    this.capacity = capacity;
    this.elementSize = elementSize;
    this.mask = slots(capacity) - 1;
    this.release = release;
  }

  /** Allocates the memory of a new queue. */
  static Ring allocate(int magic, int capacity, int elementSize) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, size(capacity, elementSize));
    MemorySegment segment = memory.segment();
    segment.set(ValueLayout.JAVA_INT, CAPACITY, capacity);
    segment.set(ValueLayout.JAVA_INT, ELEMENT_SIZE, elementSize);
    // Release: whoever finds the magic number finds the rest of the header too.
    WORD.setRelease(segment, 0L, magic);
    Ring ring = new Ring(memory, capacity, elementSize, memory::close);
    ring.touch();
    return ring;
  }

  /**
   * Takes a queue that is there.
   *
   * @throws IllegalArgumentException if the memory has no such queue
   */
  static Ring map(int magic, SharedMemory memory, int capacity, int elementSize) {
    long size = size(capacity, elementSize);
    if (memory.size() < size) {
      throw new IllegalArgumentException(
          "%s is too small for a queue of %d elements of %d bytes, which takes %d"
              .formatted(memory, capacity, elementSize, size));
    }
    Ring ring = new Ring(memory, capacity, elementSize, memory.lend()::close);
    try {
      ring.checkHeader(magic);
      ring.touch();
      return ring;
    } catch (IllegalArgumentException e) {
      ring.release.run();
      throw e;
    }
  }

  private void checkHeader(int magic) {
    // Acquire: pairs with the release in allocate.
    if ((int) WORD.getAcquire(segment, 0L) != magic) {
      throw new IllegalArgumentException(memory + " is no queue of this kind");
    }
    int foundCapacity = segment.get(ValueLayout.JAVA_INT, CAPACITY);
    int foundSize = segment.get(ValueLayout.JAVA_INT, ELEMENT_SIZE);
    if (foundCapacity != capacity || foundSize != elementSize) {
      throw new IllegalArgumentException(
          "the queue has %d elements of %d bytes, and not %d of %d"
              .formatted(foundCapacity, foundSize, capacity, elementSize));
    }
  }

  /** Has every page mapped now, so that no message waits for it. */
  private void touch() {
    for (long at = 0; at < segment.byteSize(); at += PAGE) {
      if (memory.isReadOnly()) {
        WORD.getOpaque(segment, at);
      } else {
        // A write that changes nothing, whatever the other side writes at the same time.
        WORD.getAndAdd(segment, at, 0);
      }
    }
  }

  private static long size(int capacity, int elementSize) {
    if (capacity < 1 || capacity > MAX_CAPACITY || elementSize < 1) {
      throw new IllegalArgumentException(
          "a queue of %d elements of %d bytes cannot be".formatted(capacity, elementSize));
    }
    return ELEMENTS + slots(capacity) * elementSize;
  }

  /** A power of two, so that positions go on where counters overflow. */
  private static long slots(int capacity) {
    return capacity == 1 ? 1 : Integer.highestOneBit(capacity - 1) * 2L;
  }

  /** Returns the offset of the element with a number in the memory. */
  long offset(long number) {
    return ELEMENTS + (number & mask) * elementSize;
  }

  void copyIn(MemorySegment from, long number, int count) {
    int first = untilEnd(number, count);
    long bytes = (long) first * elementSize;
    MemorySegment.copy(from, 0, segment, offset(number), bytes);
    if (first < count) {
      MemorySegment.copy(from, bytes, segment, ELEMENTS, (long) (count - first) * elementSize);
    }
  }

  void copyOut(long number, MemorySegment to, int count) {
    int first = untilEnd(number, count);
    long bytes = (long) first * elementSize;
    MemorySegment.copy(segment, offset(number), to, 0, bytes);
    if (first < count) {
      MemorySegment.copy(segment, ELEMENTS, to, bytes, (long) (count - first) * elementSize);
    }
  }

  /** Returns how many of some elements come before the end of the ring. */
  private int untilEnd(long number, int count) {
    return (int) Math.min(count, mask + 1 - (number & mask));
  }
}
