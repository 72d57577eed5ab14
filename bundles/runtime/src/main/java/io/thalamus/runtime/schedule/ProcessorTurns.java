// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import io.thalamus.model.NanoClock;
import io.thalamus.model.Priority;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The turns at the processors that executions take while more urgent ones come. Thread-safe.
 *
 * <p>A permit is no processor. The system gives a thread that computes without a stop some
 * milliseconds at a time, and knows no priorities of executions. An urgent caller that wakes up may
 * have to wait that long before it can even ask for a permit. So executions of lower priorities
 * yield their processor after each {@link #TURN_NANOS} as long as more urgent ones have come
 * lately, of whatever application and for whatever device.
 *
 * <p>An arriving thread writes nothing and reads no clock while others of its priority have come
 * before it.
 */
final class ProcessorTurns {
  /** The turns of this process. */
  static final ProcessorTurns OF_PROCESS = new ProcessorTurns(System::nanoTime, Thread::yield);

  /**
   * The length of a turn. Much longer ones delay the urgent; shorter ones gain nothing, since a
   * yield does not say to whom.
   */
  static final long TURN_NANOS = 200_000L;

  /** After two periods without an arrival of its priority, nothing is expected any more. */
  static final long PERIOD_NANOS = 1_000_000_000L;

  private static final int PERIODS = 2;

  private final NanoClock clock;
  private final Runnable yield;

  /** For each priority, for how many periods more one is expected. */
  private final AtomicIntegerArray periodsLeft = new AtomicIntegerArray(Priority.values().length);

  private final AtomicLong periodBeganNanos;

  /** Turns by a clock of processor time, and the way to yield a processor. */
  ProcessorTurns(NanoClock clock, Runnable yield) {
    this.clock = clock;
    this.yield = yield;
    this.periodBeganNanos = new AtomicLong(clock.nanoTime());
  }

  /** Expects more executions of this priority, since one has come. */
  void arrive(Priority priority) {
    int rank = priority.ordinal();
    if (periodsLeft.get(rank) != PERIODS) {
      periodsLeft.set(rank, PERIODS);
    }
  }

  /**
   * Returns whether a turn is over, since more urgent ones are expected.
   *
   * @param own the priority of the one whose turn it is
   * @param began when the turn began, as {@link #next} returned it
   */
  boolean isOver(Priority own, long began) {
    return isBehind(own) && clock.nanoTime() - began >= TURN_NANOS;
  }

  /** Yields the processor of this thread; returns when its next turn begins. */
  long next() {
    age(clock.nanoTime());
    yield.run();
    return clock.nanoTime();
  }

  private boolean isBehind(Priority own) {
    for (int rank = own.ordinal() + 1; rank < periodsLeft.length(); rank++) {
      if (periodsLeft.get(rank) > 0) {
        return true;
      }
    }
    return false;
  }

  private void age(long now) {
    long began = periodBeganNanos.get();
    if (now - began >= PERIOD_NANOS && periodBeganNanos.compareAndSet(began, now)) {
      for (int rank = 0; rank < periodsLeft.length(); rank++) {
        periodsLeft.getAndUpdate(rank, left -> Math.max(0, left - 1));
      }
    }
  }
}
