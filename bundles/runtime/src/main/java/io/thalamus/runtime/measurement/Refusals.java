// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The refusals in a row by one lower bound. Thread-safe.
 *
 * <p>A refused step teaches nothing. So each refusal makes the bound a hundredth lower: one that
 * was learnt while devices were busy, or from code that was not compiled yet, does not refuse for
 * ever.
 */
public final class Refusals {
  /** The share by which the bound falls. */
  private static final double FALL = 0.01;

  private static final long NANOS_PER_MICRO = 1_000;

  private final AtomicInteger count = new AtomicInteger();

  /** Returns what is left of the bound. */
  public double lowered(double nanos) {
    return nanos * Math.pow(1 - FALL, count.get());
  }

  /** Counts a refusal. */
  public void add() {
    count.incrementAndGet();
  }

  /** Begins anew, since something was done and so measured. */
  public void end() {
    if (count.get() != 0) {
      count.set(0);
    }
  }

  /** Returns the reason of a refusal, for people. */
  public static String reason(long leftNanos, double leastNanos) {
    return leftNanos / NANOS_PER_MICRO
        + " us are left, and it takes "
        + (long) (leastNanos / NANOS_PER_MICRO)
        + " us at least";
  }
}
