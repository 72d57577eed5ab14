// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import java.util.SplittableRandom;

/**
 * The executions that a fault strikes, counted from 1 since its rule was given. Immutable. Threads
 * and time do not matter: n alone decides on the n-th execution.
 *
 * @param after so many executions pass first
 * @param every of those that follow, each so-many-th counts
 * @param rate of those that count, the share that is struck, in (0, 1]
 * @param seed chooses them; and the bits of wrong answers
 * @param once whether the rule has struck for the last time when it has struck
 */
public record Trigger(long after, long every, double rate, long seed, boolean once) {
  /** Every execution. */
  public static final Trigger ALWAYS = new Trigger(0, 1, 1, 0, false);

  public Trigger {
    if (after < 0 || every < 1 || !(rate > 0) || rate > 1) {
      throw new IllegalArgumentException(
          "after " + after + " every " + every + " rate " + rate + " strikes nothing");
    }
  }

  /** Returns whether there is no condition, and so no execution to wait for. */
  boolean isImmediate() {
    return once && after == 0 && every == 1 && rate == 1;
  }

  boolean strikes(long execution) {
    long counted = execution - after;
    return counted > 0
        && counted % every == 0
        && (rate == 1 || random(execution).nextDouble() < rate);
  }

  /**
   * Returns the random numbers of an execution, always the same; the first decides on the fault.
   */
  SplittableRandom random(long execution) {
    return new SplittableRandom(new SplittableRandom(seed).nextLong() ^ execution);
  }

  @Override
  public String toString() {
    return (after == 0 ? "" : "after " + after + " executions ")
        + (every == 1 ? "" : "every " + every + " ")
        + (rate == 1 ? "" : "rate " + rate + " ")
        + (rate == 1 && seed == 0 ? "" : "seed " + seed + " ")
        + (once ? "once " : "");
  }
}
