// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Elementwise.QuantizedProduct;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import jdk.incubator.vector.IntVector;

/** The product of two tensors of stored bytes, exact. */
public final class StoredProduct extends StoredPairs {
  private final QuantizedProduct product;
  private final int flip;
  private final int firstZeroPoint;
  private final int secondZeroPoint;
  private final int outputZeroPoint;
  private final Factor factor;

  StoredProduct(QuantizedProduct product, Pairs pairs, Budget budget) {
    super(pairs, 8, budget);
    this.product = product;
    flip = pairs.output().flip();
    firstZeroPoint = pairs.left().signedZeroPoint();
    secondZeroPoint = pairs.right().signedZeroPoint();
    outputZeroPoint = pairs.output().view().zeroPoint();
    factor = Factor.isPossible(product.output()) ? Factor.of(product.output()) : null;
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
    int low = product.activation().min();
    int high = product.activation().max();
    if (factor == null || isScalar) {
      for (int i = 0; i < count; i++) {
        int x = (byte) (first[firstAt + i] ^ flip) - firstZeroPoint;
        int y = (byte) (second[secondAt + i] ^ flip) - secondZeroPoint;
        int result = product.output().apply(x * y);
        out[to + i] = (byte) Math.clamp((long) result + outputZeroPoint, low, high);
      }
      return;
    }
    for (int i = 0; i < count; i += Lanes.COUNT) {
      IntVector x = Lanes.toInts(first, firstAt + i, flip).sub(firstZeroPoint);
      IntVector y = Lanes.toInts(second, secondAt + i, flip).sub(secondZeroPoint);
      IntVector result = factor.apply(x.mul(y)).add(outputZeroPoint);
      Lanes.toBytes(result.max(low).min(high), out, to + i);
    }
  }
}
