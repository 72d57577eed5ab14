// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;

/** A function of the elements of two tensors: walks over the runs. */
abstract class PairRuns extends UnitStep {
  private final Pairs pairs;

  /**
   * @param workEach accesses for each element of the result
   */
  PairRuns(Pairs pairs, int workEach, Budget budget) {
    super(pairs.count(), budget.tiles((long) workEach * pairs.output().size()));
    this.pairs = pairs;
  }

  @Override
  final void run(Frame frame, Scratch scratch, int first, int end) {
    Object out = frame.array(pairs.output());
    Object left = frame.array(pairs.left());
    Object right = frame.array(pairs.right());
    int period = Math.max(pairs.firstPeriod(), pairs.secondPeriod());
    Object repeated = null;
    int repeatedAt = -1;
    int repeatedCount = 0;
    for (int run = first; run < end; run++) {
      int firstAt = pairs.first()[run];
      int secondAt = pairs.second()[run];
      int count = pairs.lengths()[run];
      boolean isFirst = pairs.firstPeriod() > 0;
      int at = isFirst ? firstAt : secondAt;
      if (period > 0 && (at != repeatedAt || count > repeatedCount)) {
        repeated = scratch.repeat(isFirst ? left : right, at, period, count);
        repeatedAt = at;
        repeatedCount = count;
      }
      apply(
          frame,
          scratch,
          isFirst ? repeated : left,
          isFirst ? 0 : firstAt,
          period > 0 && !isFirst ? repeated : right,
          period > 0 && !isFirst ? 0 : secondAt,
          out,
          pairs.result()[run],
          count);
    }
  }

  /** Computes a run of results; the arrays are those of the tensors' types. */
  abstract void apply(
      Frame frame,
      Scratch scratch,
      Object first,
      int firstAt,
      Object second,
      int secondAt,
      Object out,
      int to,
      int count);
}
