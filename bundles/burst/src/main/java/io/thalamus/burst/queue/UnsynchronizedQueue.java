// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * A queue in shared memory with one writer, which never waits and overwrites what is old, and any
 * number of readers: the unsynchronized flavour of NNAPI's fast message queues. A reader that is
 * too slow loses elements, which it counts, and goes on with the newest ones. No reader sees an
 * element that is half overwritten.
 *
 * <p>At any time one thread writes. The memory belongs to the queue that allocated it; a queue that
 * was mapped keeps it mapped until it is closed. Readers may map it without the right to write.
 * Every transfer after {@link #close} is an {@link IllegalStateException}.
 */
public final class UnsynchronizedQueue implements AutoCloseable {
  private static final int MAGIC = 0x5148_4c32;
  private static final long WRITTEN = Ring.WRITTEN;

  /** Beside the other counter of the writer. */
  private static final long BEGUN = WRITTEN + Long.BYTES;

  private final Ring ring;
  private final MemorySegment segment;
  private final int capacity;

  private UnsynchronizedQueue(Ring ring) {
    this.ring = ring;
    this.segment = ring.segment;
    this.capacity = ring.capacity;
  }

  /**
   * Allocates a new queue.
   *
   * @param capacity number of elements
   * @param elementSize bytes of an element
   * @throws io.thalamus.memory.SharedMemoryException if there is no memory for it
   */
  public static UnsynchronizedQueue allocate(int capacity, int elementSize) {
    return new UnsynchronizedQueue(Ring.allocate(MAGIC, capacity, elementSize));
  }

  /**
   * Takes a queue that was allocated elsewhere, with what it holds.
   *
   * @param memory stays owned by the caller, who may close it at once
   * @throws IllegalArgumentException if the memory is no such queue
   */
  public static UnsynchronizedQueue map(SharedMemory memory, int capacity, int elementSize) {
    return new UnsynchronizedQueue(Ring.map(MAGIC, memory, capacity, elementSize));
  }

  /** Returns the memory, from which others map the queue. */
  public SharedMemory memory() {
    return ring.memory;
  }

  /** Returns the number of elements that a reader may be behind. */
  public int capacity() {
    return capacity;
  }

  /** Returns the bytes of an element. */
  public int elementSize() {
    return ring.elementSize;
  }

  /**
   * Writes elements over the oldest ones.
   *
   * @param from the elements, from the first byte on
   * @param count at most the capacity
   * @throws IllegalStateException if the counters of the memory make no sense
   */
  public void write(MemorySegment from, int count) {
    checkCount(count);
    // Opaque: only this thread writes the counters.
    long written = (long) Ring.COUNTER.getOpaque(segment, WRITTEN);
    long begun = (long) Ring.COUNTER.getOpaque(segment, BEGUN);
    if (begun - written < 0 || begun - written > capacity) {
      throw new IllegalStateException(
          "the counters of the queue are damaged: %d begun, %d written, room for %d"
              .formatted(begun, written, capacity));
    }
    long next = written + count;
    // A writer that ended half-way had begun more, and readers are not to see what it left.
    Ring.COUNTER.setOpaque(segment, BEGUN, next - begun > 0 ? next : begun);
    // Release: the counter of begun elements is written before any of them is overwritten.
    VarHandle.releaseFence();
    ring.copyIn(from, written, count);
    // Release: a reader that sees the counter sees the elements.
    Ring.COUNTER.setRelease(segment, WRITTEN, next);
  }

  /** Returns a new reader, which begins with the next element to be written. */
  public Reader reader() {
    return new Reader();
  }

  private void checkCount(int count) {
    if (count < 0 || count > capacity) {
      throw new IllegalArgumentException(
          "%d elements at once, with a capacity of %d".formatted(count, capacity));
    }
  }

  /** Lets go of the memory. Calling it again does nothing. */
  @Override
  public void close() {
    ring.release.run();
  }

  /** One reader of the queue, as good as the queue is open. Used by one thread at a time. */
  public final class Reader {
    private long next;
    private long lost;

    private Reader() {
      next = written();
    }

    // Acquire: elements are read after the counter that says that they are there.
    private long written() {
      return (long) Ring.COUNTER.getAcquire(segment, WRITTEN);
    }

    /**
     * Reads elements, if so many are there. If those that would be next are overwritten, the newest
     * ones are read instead.
     *
     * @param to receives the elements from its first byte on; has no meaning if this returns false
     * @param count at most the capacity
     * @return false if so few are there, or they were overwritten while they were read, after which
     *     it is worth to try again
     */
    public boolean read(MemorySegment to, int count) {
      checkCount(count);
      long written = written();
      if (written - next > capacity) {
        skipTo(written - count);
      } else if (written - next < count) {
        return false;
      }
      ring.copyOut(next, to, count);
      // Acquire: the counter is read after the elements. If one of them came from a later write,
      // the counter that was written before that is seen here.
      VarHandle.acquireFence();
      long begun = (long) Ring.COUNTER.getOpaque(segment, BEGUN);
      if (begun - next > capacity) {
        skipTo(written() - count);
        return false;
      }
      next += count;
      return true;
    }

    private void skipTo(long number) {
      lost += number - next;
      next = number;
    }

    /** Returns how many elements were overwritten before this reader came to them. */
    public long lost() {
      return lost;
    }

    /** Returns how many elements are there to read, the capacity at most. */
    public int available() {
      return Math.clamp(written() - next, 0, capacity);
    }
  }
}
