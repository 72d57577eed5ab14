// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import java.util.Arrays;
import java.util.OptionalDouble;

/**
 * The latest times of one prepared step. Any number of threads may add; where two do at once, one
 * of the times can be lost, which does no harm. Nothing is allocated, and nobody waits.
 */
public final class StepTimes {
  /** So many are kept. */
  static final int KEPT = 32;

  /** After fewer, code is still being compiled and caches are cold. */
  private static final int FEWEST = 12;

  private final long[] nanos = new long[KEPT];
  private volatile int count;

  /** One execution took so long. */
  public void add(long time) {
    int next = count;
    nanos[next % KEPT] = time;
    count = next == Integer.MAX_VALUE ? KEPT : next + 1;
  }

  /** The time in the middle of the latest; empty where there were too few to go by. */
  public OptionalDouble usual() {
    return count < FEWEST ? OptionalDouble.empty() : OptionalDouble.of(middle());
  }

  /**
   * The time in the middle of the latest half, of however few there are; empty where there is none.
   * For measurements that were asked for, where there may be no more.
   */
  public OptionalDouble measured() {
    if (count == 0) {
      return OptionalDouble.empty();
    }
    if (count >= KEPT) {
      return OptionalDouble.of(middle());
    }
    long[] latest = Arrays.copyOfRange(nanos, count / 2, count);
    Arrays.sort(latest);
    return OptionalDouble.of(latest[(latest.length - 1) / 2]);
  }

  private double middle() {
    long[] sorted = Arrays.copyOf(nanos, Math.min(count, KEPT));
    Arrays.sort(sorted);
    return sorted[(sorted.length - 1) / 2];
  }
}
