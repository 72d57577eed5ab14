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
    for (int run = first; run < end; run++) {
      Object left = frame.array(pairs.left());
      Object right = frame.array(pairs.right());
      int firstAt = pairs.first()[run];
      int secondAt = pairs.second()[run];
      int count = pairs.lengths()[run];
      if (pairs.isFirstRepeated()) {
        left = scratch.repeat(left, firstAt, count);
        firstAt = 0;
      } else if (pairs.isSecondRepeated()) {
        right = scratch.repeat(right, secondAt, count);
        secondAt = 0;
      }
      apply(frame, scratch, left, firstAt, right, secondAt, out, pairs.result()[run], count);
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
