// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import io.thalamus.memory.EventFlag;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * One side, or both, of a queue in shared memory with one writer and one reader: the synchronized
 * flavour of NNAPI's fast message queues. Messages of several elements are written and read as a
 * whole.
 *
 * <p>At any time one thread writes and one thread reads, each by one object throughout; others call
 * only {@link #interrupt}, {@link #close} and those methods that return facts. An object for each
 * side is fastest. The memory belongs to the queue that allocated it; a queue that was mapped keeps
 * it mapped until it is closed. Nothing is allocated by a transfer or a wait.
 *
 * <p>The other side may be foreign: counters of it that make no sense are an {@link
 * IllegalStateException}, as is every transfer after {@link #close}. Elements that a reader looks
 * at in place may change under its eyes.
 */
public final class MessageQueue implements AutoCloseable {
  private static final int MAGIC = 0x5148_4c31;
  private static final long WRITTEN = Ring.WRITTEN;
  private static final long READ = 2 * Ring.LINE;
  private static final long FLAG = 3 * Ring.LINE;
  private static final long READER_WAITS = FLAG + EventFlag.BYTES;
  private static final long WRITER_WAITS = READER_WAITS + Integer.BYTES;

  /** The events of the flag, with the bits that they have in AOSP. */
  private static final int NOT_FULL = 1;

  private static final int NOT_EMPTY = 2;

  // Fields of the writer and of the reader in an array, so that they are on lines of their own.
  private static final int OWN_WRITTEN = 16;
  private static final int SEEN_READ = 17;
  private static final int BEGUN_WRITE = 18;
  private static final int OWN_READ = 32;
  private static final int SEEN_WRITTEN = 33;
  private static final int BEGUN_READ = 34;
  private static final int FIELDS = 48;

  /** The number of looks after which a polling thread lets another one have the processor. */
  private static final int LOOKS_PER_YIELD = 64;

  private final Ring ring;
  private final MemorySegment segment;
  private final int capacity;
  private final EventFlag flag;
  private final ReferenceCount uses;
  private final long[] fields = new long[FIELDS];
  private volatile boolean isInterrupted;

  private MessageQueue(Ring ring) {
    this.ring = ring;
    this.segment = ring.segment;
    this.capacity = ring.capacity;
    this.flag = new EventFlag(ring.memory, FLAG);
    this.uses = new ReferenceCount(ring.release);
  }

  /**
   * Allocates a new queue.
   *
   * @param capacity number of elements
   * @param elementSize bytes of an element
   * @throws io.thalamus.memory.SharedMemoryException if there is no memory for it
   */
  public static MessageQueue allocate(int capacity, int elementSize) {
    return new MessageQueue(Ring.allocate(MAGIC, capacity, elementSize));
  }

  /**
   * Takes a queue that was allocated elsewhere, with what it holds.
   *
   * @param memory stays owned by the caller, who may close it at once
   * @throws IllegalArgumentException if the memory is no such queue
   */
  public static MessageQueue map(SharedMemory memory, int capacity, int elementSize) {
    if (memory.isReadOnly()) {
      throw new IllegalArgumentException("both sides of a queue write to its memory");
    }
    Ring ring = Ring.map(MAGIC, memory, capacity, elementSize);
    try {
      MessageQueue queue = new MessageQueue(ring);
      queue.readCounters();
      return queue;
    } catch (IllegalArgumentException e) {
      ring.release.run();
      throw e;
    }
  }

  private void readCounters() {
    // Acquire: the first transfer of this side comes after what the other one did before.
    long read = (long) Ring.COUNTER.getAcquire(segment, READ);
    long written = (long) Ring.COUNTER.getAcquire(segment, WRITTEN);
    if (written - read < 0 || written - read > capacity) {
      throw new IllegalArgumentException(damage(written, read));
    }
    fields[OWN_WRITTEN] = written;
    fields[SEEN_WRITTEN] = written;
    fields[OWN_READ] = read;
    fields[SEEN_READ] = read;
  }

  private String damage(long written, long read) {
    return "the counters of the queue are damaged: %d written, %d read, room for %d"
        .formatted(written, read, capacity);
  }

  /** Returns the memory, from which the other side maps the queue. */
  public SharedMemory memory() {
    return ring.memory;
  }

  /** Returns the number of elements that the queue holds at most. */
  public int capacity() {
    return capacity;
  }

  /** Returns the bytes of an element. */
  public int elementSize() {
    return ring.elementSize;
  }

  /** Returns how many elements are there to read. */
  public int availableToRead() {
    // The read counter first: it does not pass the other one.
    long read = (long) Ring.COUNTER.getAcquire(segment, READ);
    long written = (long) Ring.COUNTER.getAcquire(segment, WRITTEN);
    if (written - read < 0) {
      throw new IllegalStateException(damage(written, read));
    }
    return (int) Math.min(capacity, written - read);
  }

  /** Returns how many elements there is room for. */
  public int availableToWrite() {
    return capacity - availableToRead();
  }

  /**
   * Writes elements if there is room for all of them.
   *
   * @param from the elements, from the first byte on
   */
  public boolean write(MemorySegment from, int count) {
    if (!beginWrite(count)) {
      return false;
    }
    ring.copyIn(from, fields[OWN_WRITTEN], count);
    commitWrite(count);
    return true;
  }

  /** Reads elements, if so many are there, to the first bytes of a segment. */
  public boolean read(MemorySegment to, int count) {
    if (!beginRead(count)) {
      return false;
    }
    ring.copyOut(fields[OWN_READ], to, count);
    commitRead(count);
    return true;
  }

  /**
   * Writes elements as soon as there is room for all of them, without polling.
   *
   * @return false as {@link #awaitWritable} does
   */
  public boolean writeBlocking(MemorySegment from, int count, long timeoutNanos) {
    return awaitWritable(count, 0, timeoutNanos) && write(from, count);
  }

  /**
   * Reads elements as soon as so many are there, without polling.
   *
   * @return false as {@link #awaitReadable} does
   */
  public boolean readBlocking(MemorySegment to, int count, long timeoutNanos) {
    return awaitReadable(count, 0, timeoutNanos) && read(to, count);
  }

  /**
   * Begins to write elements in place if there is room for all of them. One that was begun before
   * and not committed is given up.
   */
  public boolean beginWrite(int count) {
    boolean isBegun = isWritable(count);
    fields[BEGUN_WRITE] = isBegun ? count : 0;
    return isBegun;
  }

  /** Returns the whole memory of the queue, in which elements are written and read in place. */
  public MemorySegment segment() {
    return segment;
  }

  /** Returns where in {@link #segment} the element i of those begun to be written is. */
  public long offset(int i) {
    return ring.offset(fields[OWN_WRITTEN] + i);
  }

  /**
   * Gives the first elements of those begun to the reader, and wakes it if it sleeps.
   *
   * @throws IllegalStateException if not so many were begun
   */
  public void commitWrite(int count) {
    checkBegun(fields[BEGUN_WRITE], count);
    long written = fields[OWN_WRITTEN] + count;
    fields[OWN_WRITTEN] = written;
    fields[BEGUN_WRITE] = 0;
    // Release: the reader that sees the counter sees the elements.
    Ring.COUNTER.setRelease(segment, WRITTEN, written);
    wake(READER_WAITS, NOT_EMPTY);
  }

  /** Begins to read elements in place if so many are there. */
  public boolean beginRead(int count) {
    boolean isBegun = isReadable(count);
    fields[BEGUN_READ] = isBegun ? count : 0;
    return isBegun;
  }

  /** Returns where in {@link #segment} the element i of those begun to be read is. */
  public long readOffset(int i) {
    return ring.offset(fields[OWN_READ] + i);
  }

  /**
   * Gives the room of the first elements of those begun to the writer, and wakes it if it sleeps.
   *
   * @throws IllegalStateException if not so many were begun
   */
  public void commitRead(int count) {
    checkBegun(fields[BEGUN_READ], count);
    long read = fields[OWN_READ] + count;
    fields[OWN_READ] = read;
    fields[BEGUN_READ] = 0;
    // Release: this side's reads of the elements are over when the writer sees the counter.
    Ring.COUNTER.setRelease(segment, READ, read);
    wake(WRITER_WAITS, NOT_FULL);
  }

  private static void checkBegun(long begun, int count) {
    if (count < 0 || count > begun) {
      throw new IllegalStateException(count + " elements committed, " + begun + " begun");
    }
  }

  private boolean isWritable(int count) {
    checkCount(count);
    long written = fields[OWN_WRITTEN];
    if (capacity - (written - fields[SEEN_READ]) >= count) {
      return true;
    }
    // Acquire: the elements are overwritten after the reader has read them.
    long read = (long) Ring.COUNTER.getAcquire(segment, READ);
    check(written, read);
    fields[SEEN_READ] = read;
    return capacity - (written - read) >= count;
  }

  private boolean isReadable(int count) {
    checkCount(count);
    long read = fields[OWN_READ];
    if (fields[SEEN_WRITTEN] - read >= count) {
      return true;
    }
    // Acquire: the elements are read after the counter that says that they are there.
    long written = (long) Ring.COUNTER.getAcquire(segment, WRITTEN);
    check(written, read);
    fields[SEEN_WRITTEN] = written;
    return written - read >= count;
  }

  private void check(long written, long read) {
    long held = written - read;
    if (held < 0 || held > capacity) {
      throw new IllegalStateException(damage(written, read));
    }
  }

  private static void checkCount(int count) {
    if (count < 0) {
      throw new IllegalArgumentException("negative number of elements " + count);
    }
  }

  /**
   * Wakes the other side if it sleeps, or is about to. It says so before it looks at the counter a
   * last time; this side has written the counter before it looks whether the other one says so. By
   * the fences in between, one of them sees what the other has written.
   */
  private void wake(long waits, int event) {
    VarHandle.fullFence();
    // Opaque: the fence orders it.
    if ((int) Ring.WORD.getOpaque(segment, waits) != 0) {
      flag.wake(event);
    }
  }

  /**
   * Waits until so many elements are there to read. {@link Thread#interrupt} does not end a wait.
   *
   * @param pollNanos how long to poll before the thread sleeps
   * @param timeoutNanos how long to wait at most, polling included; 0 to look once
   * @return false at the timeout, at an {@link #interrupt}, and where it cannot be: beyond the
   *     capacity
   */
  public boolean awaitReadable(int count, long pollNanos, long timeoutNanos) {
    return await(true, count, pollNanos, timeoutNanos);
  }

  /**
   * Waits until there is room for so many elements. {@link Thread#interrupt} does not end a wait.
   *
   * @param pollNanos how long to poll before the thread sleeps
   * @param timeoutNanos how long to wait at most, polling included; 0 to look once
   * @return false at the timeout, at an {@link #interrupt}, and where it cannot be: beyond the
   *     capacity
   */
  public boolean awaitWritable(int count, long pollNanos, long timeoutNanos) {
    return await(false, count, pollNanos, timeoutNanos);
  }

  private boolean await(boolean isReader, int count, long pollNanos, long timeoutNanos) {
    if (isInterrupted || count > capacity) {
      return false;
    }
    try {
      if (isReady(isReader, count)) {
        return true;
      }
      long start = System.nanoTime();
      return timeoutNanos > 0
          && (poll(isReader, count, start, Math.min(pollNanos, timeoutNanos))
              || sleep(isReader, count, start, timeoutNanos));
    } catch (IllegalStateException e) {
      if (isInterrupted) {
        // Closed since it was asked.
        return false;
      }
      throw e;
    }
  }

  private boolean isReady(boolean isReader, int count) {
    return isReader ? isReadable(count) : isWritable(count);
  }

  private boolean poll(boolean isReader, int count, long start, long nanos) {
    for (int looks = 1; nanos > 0 && !isInterrupted; looks++) {
      if (isReady(isReader, count)) {
        return true;
      }
      Thread.onSpinWait();
      if (looks % LOOKS_PER_YIELD == 0) {
        if (System.nanoTime() - start >= nanos) {
          return false;
        }
        // The other side may need this very processor.
        Thread.yield();
      }
    }
    return false;
  }

  /** Sleeps; the memory stays mapped meanwhile, which costs too much to do it while polling. */
  private boolean sleep(boolean isReader, int count, long start, long timeoutNanos) {
    if (!uses.retain()) {
      return false;
    }
    try {
      return sleepUntil(isReader, count, start, timeoutNanos);
    } finally {
      uses.release();
    }
  }

  private boolean sleepUntil(boolean isReader, int count, long start, long timeoutNanos) {
    long waits = isReader ? READER_WAITS : WRITER_WAITS;
    Ring.WORD.setOpaque(segment, waits, 1);
    try {
      while (true) {
        // Between saying so and looking a last time; see wake.
        VarHandle.fullFence();
        if (isInterrupted) {
          return false;
        }
        if (isReady(isReader, count)) {
          return true;
        }
        long left = timeoutNanos - (System.nanoTime() - start);
        if (left <= 0) {
          return false;
        }
        flag.await(isReader ? NOT_EMPTY : NOT_FULL, left);
      }
    } finally {
      Ring.WORD.setOpaque(segment, waits, 0);
    }
  }

  /** Has all waits of this object, those under way and later ones, return false at once. */
  public void interrupt() {
    isInterrupted = true;
    if (uses.retain()) {
      try {
        flag.wake(NOT_EMPTY | NOT_FULL);
      } finally {
        uses.release();
      }
    }
  }

  /**
   * Ends waits and lets go of the memory when the last of them has returned. Calling it again does
   * nothing.
   */
  @Override
  public void close() {
    interrupt();
    uses.close();
  }
}
