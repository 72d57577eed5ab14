// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * Events that threads, also of other processes, await in a word of shared memory. A new word is
 * zero. Thread-safe. The memory belongs to the caller; it stays mapped while a thread waits, even
 * if it is closed meanwhile.
 *
 * <p>The word has one bit for each of {@value #EVENTS} events, and the sign bit says that somebody
 * may sleep. {@link #wake} clears it in the same step in which it sets its events. So a thread that
 * finds none of its events and puts the sign bit there is either seen by the next wake, or its
 * sleep is refused since the word has changed:
 *
 * <pre>
 *   await                                      wake
 *   word has none of its bits                  word := (word | bits) without the sign bit
 *   word := word with the sign bit             if the sign bit was set: wake all sleepers
 *   sleep unless word differs from this value
 * </pre>
 *
 * <p>A sleeper does not notice {@link Thread#interrupt}; the status stays set. A waiting thread is
 * ended by an event that wakes it. A virtual thread that sleeps occupies its carrier.
 */
public final class EventFlag {
  /** The number of events in a word. */
  public static final int EVENTS = 31;

  /** The size of the word in bytes. */
  public static final int BYTES = Integer.BYTES;

  private static final int SLEEPERS = 1 << EVENTS;

  /**
   * A process that is killed after it has set an event and before it wakes the sleepers, or that
   * has no futex where this one has, does not end their sleep: they look again after this time.
   */
  private static final long LONGEST_NANOS = 100_000_000;

  private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

  private final SharedMemory memory;
  private final MemorySegment segment;
  private final long offset;
  private final Sleep sleep;
  private final long longestNanos;

  /**
   * The word at an offset, with whatever events it has.
   *
   * @param memory writable
   * @param offset a multiple of {@value #BYTES} in the memory
   */
  public EventFlag(SharedMemory memory, long offset) {
    this(memory, offset, Sleep.best(), LONGEST_NANOS);
  }

  EventFlag(SharedMemory memory, long offset, Sleep sleep, long longestNanos) {
    this.memory = Objects.requireNonNull(memory, "memory");
    this.segment = memory.segment();
    this.offset = offset;
    this.sleep = sleep;
    this.longestNanos = longestNanos;
    if (memory.isReadOnly()) {
      throw new IllegalArgumentException("an event flag needs writable memory");
    }
    if (offset < 0 || offset > memory.size() - BYTES || (segment.address() + offset) % BYTES != 0) {
      throw new IllegalArgumentException("no word at offset " + offset + " of " + memory);
    }
  }

  /** Returns how threads sleep: {@code futex}, or {@code polling: } and the reason. */
  public static String implementation() {
    return Sleep.best().description();
  }

  /**
   * Sets events and wakes the threads that await them. All that this thread wrote before is visible
   * to the thread that takes an event. No system call where nobody sleeps.
   *
   * @param bits at least one event; not the sign bit
   * @throws IllegalStateException if the memory is closed
   */
  public void wake(int bits) {
    check(bits);
    int word;
    do {
      word = (int) WORD.getOpaque(segment, offset);
      // Release: what was written before comes with the events. Also where they are set already:
      // whoever takes them must see what this thread wrote, not only the thread that was first.
    } while (!WORD.weakCompareAndSetRelease(segment, offset, word, (word | bits) & ~SLEEPERS));
    if ((word & SLEEPERS) != 0) {
      memory.retain();
      try {
        sleep.wakeAll(segment.address() + offset);
      } finally {
        memory.release();
      }
    }
  }

  /**
   * Waits for one of some events, and takes and clears those of them that are set.
   *
   * @param bits at least one event; not the sign bit
   * @param timeoutNanos how long to wait at most; 0 to look once, Long.MAX_VALUE for ever
   * @return the events taken; 0 at the timeout
   * @throws IllegalStateException if the memory is closed
   */
  public int await(int bits, long timeoutNanos) {
    check(bits);
    int taken = take(bits);
    if (taken != 0 || timeoutNanos <= 0) {
      return taken;
    }
    memory.retain();
    try {
      return sleepUntil(bits, System.nanoTime(), timeoutNanos);
    } finally {
      memory.release();
    }
  }

  private int sleepUntil(int bits, long start, long timeoutNanos) {
    for (int round = 0; ; round++) {
      int taken = take(bits);
      long left = timeoutNanos - (System.nanoTime() - start);
      if (taken != 0 || left <= 0) {
        return taken;
      }
      int word = (int) WORD.getOpaque(segment, offset);
      if ((word & bits) != 0) {
        continue;
      }
      // Volatile, since what comes with an event is read after it; a plain failure is retried.
      if ((word & SLEEPERS) != 0
          || WORD.weakCompareAndSet(segment, offset, word, word | SLEEPERS)) {
        sleep.sleep(
            segment.address() + offset, word | SLEEPERS, Math.min(left, longestNanos), round);
      }
    }
  }

  /** Takes those of the events that are set. */
  private int take(int bits) {
    while (true) {
      int word = (int) WORD.getOpaque(segment, offset);
      int taken = word & bits;
      // Acquire: what the waking thread wrote before is read after this.
      if (taken == 0 || WORD.weakCompareAndSetAcquire(segment, offset, word, word & ~taken)) {
        return taken;
      }
    }
  }

  private static void check(int bits) {
    if (bits <= 0) {
      throw new IllegalArgumentException("events " + Integer.toHexString(bits));
    }
  }
}
