// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Activation.QuantizedPrelu;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/** Stored bytes, those below zero times others, exact. */
public final class StoredPrelu extends StoredPairs {
  private final QuantizedPrelu prelu;
  private final int flip;
  private final int firstZeroPoint;
  private final int secondZeroPoint;
  private final int outputZeroPoint;
  private final Factor positive;
  private final Factor negative;

  StoredPrelu(QuantizedPrelu prelu, Pairs pairs, Budget budget) {
    super(pairs, 8, budget);
    this.prelu = prelu;
    flip = pairs.output().flip();
    firstZeroPoint = pairs.left().signedZeroPoint();
    secondZeroPoint = pairs.right().signedZeroPoint();
    outputZeroPoint = pairs.output().view().zeroPoint();
    boolean isPossible = Factor.isPossible(prelu.positive()) && Factor.isPossible(prelu.negative());
    positive = isPossible ? Factor.of(prelu.positive()) : null;
    negative = isPossible ? Factor.of(prelu.negative()) : null;
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
    int low = prelu.range().min();
    int high = prelu.range().max();
    if (positive == null || isScalar) {
      for (int i = 0; i < count; i++) {
        int x = (byte) (first[firstAt + i] ^ flip) - firstZeroPoint;
        int y = (byte) (second[secondAt + i] ^ flip) - secondZeroPoint;
        int result = x < 0 ? prelu.negative().apply(x * y) : prelu.positive().apply(x);
        out[to + i] = (byte) Math.clamp((long) result + outputZeroPoint, low, high);
      }
      return;
    }
    for (int i = 0; i < count; i += Lanes.COUNT) {
      IntVector x = Lanes.toInts(first, firstAt + i, flip).sub(firstZeroPoint);
      IntVector y = Lanes.toInts(second, secondAt + i, flip).sub(secondZeroPoint);
      IntVector result =
          positive
              .apply(x)
              .blend(negative.apply(x.mul(y)), x.compare(VectorOperators.LT, 0))
              .add(outputZeroPoint);
      Lanes.toBytes(result.max(low).min(high), out, to + i);
    }
  }
}
