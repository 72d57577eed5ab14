// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Elementwise.QuantizedSum;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * The sum or the difference of two tensors of stored bytes, exact. Sums of factors and the factor
 * of sums are two loops over parts: in one, there are more calls than the JVM inlines, and each
 * vector would become an object.
 */
public final class StoredSum extends StoredPairs {
  /** Sums between the two loops; whole vectors. */
  private static final int PART = 512;

  private final QuantizedSum sum;
  private final int flip;
  private final int firstZeroPoint;
  private final int secondZeroPoint;
  private final int outputZeroPoint;
  private final boolean vectorized;
  private final Factor firstFactor;
  private final Factor secondFactor;
  private final Factor outputFactor;

  StoredSum(QuantizedSum sum, Pairs pairs, Budget budget) {
    super(pairs, 8, budget);
    this.sum = sum;
    flip = pairs.output().flip();
    firstZeroPoint = pairs.left().signedZeroPoint();
    secondZeroPoint = pairs.right().signedZeroPoint();
    outputZeroPoint = pairs.output().view().zeroPoint();
    vectorized =
        Factor.isPossible(sum.input1())
            && Factor.isPossible(sum.input2())
            && Factor.isPossible(sum.output())
            && sum.leftShift() <= 20;
    firstFactor = vectorized ? Factor.of(sum.input1()) : null;
    secondFactor = vectorized ? Factor.of(sum.input2()) : null;
    outputFactor = vectorized ? Factor.of(sum.output()) : null;
  }

  @Override
  public int scratchInts() {
    return PART;
  }

  @Override
  void apply(
      boolean isScalar,
      int[] sums,
      byte[] first,
      int firstAt,
      byte[] second,
      int secondAt,
      byte[] out,
      int to,
      int count) {
    if (!vectorized || isScalar) {
      int shift = sum.leftShift();
      int low = sum.activation().min();
      int high = sum.activation().max();
      for (int i = 0; i < count; i++) {
        int x = ((byte) (first[firstAt + i] ^ flip) - firstZeroPoint) << shift;
        int y = ((byte) (second[secondAt + i] ^ flip) - secondZeroPoint) << shift;
        int result = sum.output().apply(sum.input1().apply(x) + sum.input2().apply(y));
        out[to + i] = (byte) Math.clamp((long) result + outputZeroPoint, low, high);
      }
      return;
    }
    for (int from = 0; from < count; from += PART) {
      int length = Math.min(PART, count - from);
      add(first, firstAt + from, second, secondAt + from, sums, length);
      store(sums, out, to + from, length);
    }
  }

  private void add(byte[] first, int firstAt, byte[] second, int secondAt, int[] sums, int count) {
    int shift = sum.leftShift();
    for (int i = 0; i < count; i += Lanes.COUNT) {
      IntVector x =
          Lanes.toInts(first, firstAt + i, flip)
              .sub(firstZeroPoint)
              .lanewise(VectorOperators.LSHL, shift);
      IntVector y =
          Lanes.toInts(second, secondAt + i, flip)
              .sub(secondZeroPoint)
              .lanewise(VectorOperators.LSHL, shift);
      firstFactor.apply(x).add(secondFactor.apply(y)).intoArray(sums, i);
    }
  }

  private void store(int[] sums, byte[] out, int to, int count) {
    int low = sum.activation().min();
    int high = sum.activation().max();
    for (int i = 0; i < count; i += Lanes.COUNT) {
      IntVector result = outputFactor.apply(IntVector.fromArray(Lanes.INTS, sums, i));
      Lanes.toBytes(result.add(outputZeroPoint).max(low).min(high), out, to + i);
    }
  }
}
