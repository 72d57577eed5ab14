// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;

/** Arithmetic on two tensors of stored bytes. */
public abstract class StoredPairs extends PairRuns {
  StoredPairs(Pairs pairs, int workEach, Budget budget) {
    super(pairs, workEach, budget);
  }

  @Override
  final void apply(
      Frame frame,
      Scratch scratch,
      Object left,
      int firstAt,
      Object right,
      int secondAt,
      Object results,
      int to,
      int count) {
    byte[] first = (byte[]) left;
    byte[] second = (byte[]) right;
    byte[] out = (byte[]) results;
    int whole = count / Lanes.COUNT * Lanes.COUNT;
    apply(frame.isScalar, scratch.ints, first, firstAt, second, secondAt, out, to, whole);
    if (whole < count) {
      byte[] spare = scratch.spareBytes;
      int firstRest = firstAt + whole;
      int secondRest = secondAt + whole;
      apply(
          frame.isScalar,
          scratch.ints,
          first,
          firstRest,
          second,
          secondRest,
          spare,
          0,
          Lanes.COUNT);
      System.arraycopy(spare, 0, out, to + whole, count - whole);
    }
  }

  /**
   * Computes a run of whole vectors.
   *
   * @param isScalar whether one element is computed after the other
   * @param sums {@link #scratchInts} elements for what lies between
   */
  abstract void apply(
      boolean isScalar,
      int[] sums,
      byte[] first,
      int firstAt,
      byte[] second,
      int secondAt,
      byte[] out,
      int to,
      int count);
}
