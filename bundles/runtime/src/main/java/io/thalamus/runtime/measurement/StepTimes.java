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

  /**
   * The time that a quarter of the latest did not exceed; empty where there were too few to go by.
   * Longer times have waited for others.
   */
  public OptionalDouble usual() {
    return count < FEWEST ? OptionalDouble.empty() : measured();
  }

  /**
   * The same of the latest half of however few there are; empty where there is none. For
   * measurements that were asked for, where there may be no more.
   */
  public OptionalDouble measured() {
    int known = count;
    if (known == 0) {
      return OptionalDouble.empty();
    }
    long[] latest = known >= KEPT ? nanos.clone() : Arrays.copyOfRange(nanos, known / 2, known);
    Arrays.sort(latest);
    return OptionalDouble.of(latest[(latest.length - 1) / 4]);
  }
}
