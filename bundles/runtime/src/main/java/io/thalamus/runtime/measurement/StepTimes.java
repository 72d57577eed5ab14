// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * The latest times of one prepared step. Any number of threads may add; where two do at once, one
 * of the times can be lost, which does no harm. Nothing is allocated, and nobody waits.
 */
public final class StepTimes {
  /** So many are kept. */
  static final int KEPT = 32;

  /** After fewer, code is still being compiled and caches are cold. */
  private static final int FEWEST = 12;

  // A store that needs no fence: nobody acts at once on a time that was added.
  private static final AtomicIntegerFieldUpdater<StepTimes> COUNT =
      AtomicIntegerFieldUpdater.newUpdater(StepTimes.class, "count");

  /** Steps that take less are timed now and then. */
  private static final long SHORT_NANOS = 5_000;

  private static final int PERIOD = 16;

  private final long[] nanos = new long[KEPT];
  private final Optional<StepTime> before;
  private volatile int count;

  /** The executions since one was timed. Written without order: counting wrong does no harm. */
  private int untimed;

  /**
   * Times of a step that begin with what is known of it.
   *
   * @param before the time of the same step in another compilation, which counts until this one has
   *     times enough of its own
   */
  public StepTimes(Optional<StepTime> before) {
    this.before = before;
  }

  /** Returns usual time and lower bound; empty where nothing was measured, here or before. */
  public Optional<StepTime> known() {
    return count < FEWEST ? before : own();
  }

  /** Returns the same of its own times; empty where there were too few to go by. */
  Optional<StepTime> own() {
    return count < FEWEST
        ? Optional.empty()
        : Optional.of(new StepTime(usual().getAsDouble(), least().getAsDouble()));
  }

  /**
   * Returns whether the next execution is to be timed. Two looks at the clock take about as long as
   * the smallest models, so of short steps only one execution in {@value #PERIOD} is.
   */
  public boolean isDue() {
    int known = count;
    if (known < FEWEST || nanos[(known - 1) % KEPT] >= SHORT_NANOS || untimed >= PERIOD - 1) {
      untimed = 0;
      return true;
    }
    untimed++;
    return false;
  }

  /** Returns the latest time; there is one if {@link #isDue} has returned false. */
  public long latestNanos() {
    return nanos[(count - 1) % KEPT];
  }

  /** One execution took so long. */
  public void add(long time) {
    int next = count;
    nanos[next % KEPT] = time;
    COUNT.lazySet(this, next == Integer.MAX_VALUE ? KEPT : next + 1);
  }

  /**
   * The time that a quarter of the latest did not exceed; empty where there were too few to go by.
   * Longer times have waited for others.
   */
  public OptionalDouble usual() {
    return count < FEWEST ? OptionalDouble.empty() : measured();
  }

  /**
   * Returns a lower bound of the time that an execution takes; empty where there were too few to go
   * by. It is {@code 2 a - q}, of the least of the latest times {@code a} and the time {@code q}
   * that a quarter of them did not exceed.
   *
   * <p>This is the estimate of where a distribution begins that Robson and Whitlock give
   * ("Estimation of a truncation point", Biometrika 51, 1964: {@code 2 x1 - x2} of the two least),
   * with a quartile in the place of the second, so that one time that is out of the way does not
   * raise it. If times do not differ at all, it is that time.
   */
  public OptionalDouble least() {
    if (count < FEWEST) {
      return OptionalDouble.empty();
    }
    long[] sorted = latest();
    long least = sorted[0];
    return OptionalDouble.of(Math.max(0, 2 * least - sorted[(sorted.length - 1) / 4]));
  }

  /**
   * As {@link #usual}, of the latest half of however few there are; empty where there is none. For
   * measurements that were asked for, where there may be no more.
   */
  public OptionalDouble measured() {
    if (count == 0) {
      return OptionalDouble.empty();
    }
    long[] sorted = latest();
    return OptionalDouble.of(sorted[(sorted.length - 1) / 4]);
  }

  private long[] latest() {
    int known = count;
    long[] latest = known >= KEPT ? nanos.clone() : Arrays.copyOfRange(nanos, known / 2, known);
    Arrays.sort(latest);
    return latest;
  }
}
