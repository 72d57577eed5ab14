// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.operations.Elementwise.QuantizedSum;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/** The sum or the difference of two tensors of stored bytes, exact. */
final class StoredSum extends StoredPairs {
  private final QuantizedSum sum;
  private final int flip;
  private final int firstZeroPoint;
  private final int secondZeroPoint;
  private final int outputZeroPoint;
  private final boolean vectorized;
  private final Factor firstFactor;
  private final Factor secondFactor;
  private final Factor outputFactor;

  StoredSum(QuantizedSum sum, Pairs pairs, Tensor first, Tensor second, Tensor output, int tiles) {
    super(pairs, tiles);
    this.sum = sum;
    flip = output.flip();
    firstZeroPoint = first.signedZeroPoint();
    secondZeroPoint = second.signedZeroPoint();
    outputZeroPoint = output.view().zeroPoint();
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
  void apply(
      boolean isScalar,
      byte[] first,
      int firstAt,
      byte[] second,
      int secondAt,
      byte[] out,
      int to,
      int count) {
    int shift = sum.leftShift();
    int low = sum.activation().min();
    int high = sum.activation().max();
    if (!vectorized || isScalar) {
      for (int i = 0; i < count; i++) {
        int x = ((byte) (first[firstAt + i] ^ flip) - firstZeroPoint) << shift;
        int y = ((byte) (second[secondAt + i] ^ flip) - secondZeroPoint) << shift;
        int result = sum.output().apply(sum.input1().apply(x) + sum.input2().apply(y));
        out[to + i] = (byte) Math.clamp((long) result + outputZeroPoint, low, high);
      }
      return;
    }
    for (int i = 0; i < count; i += Lanes.COUNT) {
      IntVector x =
          Lanes.toInts(first, firstAt + i, flip)
              .sub(firstZeroPoint)
              .lanewise(VectorOperators.LSHL, shift);
      IntVector y =
          Lanes.toInts(second, secondAt + i, flip)
              .sub(secondZeroPoint)
              .lanewise(VectorOperators.LSHL, shift);
      IntVector result = outputFactor.apply(firstFactor.apply(x).add(secondFactor.apply(y)));
      Lanes.toBytes(result.add(outputZeroPoint).max(low).min(high), out, to + i);
    }
  }
}
