// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.IntRange;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;

/**
 * Exact arithmetic on two tensors of stored bytes, part by part: integers of the bytes, products of
 * these with factors, bytes of the products.
 */
public abstract class StoredPairs extends PairRuns {
  /** Elements of a part: its integers stay in the first-level cache. */
  static final int PART = 1024;

  private final int flip;
  private final int firstZeroPoint;
  private final int secondZeroPoint;
  private final int outputZeroPoint;
  private final IntRange range;

  StoredPairs(IntRange range, Pairs pairs, Budget budget) {
    super(pairs, 8, budget);
    this.range = range;
    flip = pairs.output().flip();
    firstZeroPoint = pairs.left().signedZeroPoint();
    secondZeroPoint = pairs.right().signedZeroPoint();
    outputZeroPoint = pairs.output().view().zeroPoint();
  }

  @Override
  public final int scratchInts() {
    return 2 * PART;
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
    int[] values = scratch.ints;
    boolean isScalar = frame.isScalar;
    for (int from = 0; from < count; from += PART) {
      int length = Math.min(PART, count - from);
      Lanes.toInts(isScalar, first, firstAt + from, flip, firstZeroPoint, values, 0, length);
      Lanes.toInts(isScalar, second, secondAt + from, flip, secondZeroPoint, values, PART, length);
      compute(values, length);
      Lanes.toBytes(isScalar, values, 0, outputZeroPoint, range, out, to + from, length);
    }
  }

  /**
   * Computes results without their zero point.
   *
   * @param values what the bytes of the first stand for, in steps of its scale; {@link #PART}
   *     behind them the same of the second. Receives the results in place of the first.
   */
  abstract void compute(int[] values, int count);
}
