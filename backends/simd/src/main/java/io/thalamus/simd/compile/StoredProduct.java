// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Elementwise.QuantizedProduct;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.program.Budget;

/** The product of two tensors of stored bytes. */
public final class StoredProduct extends StoredPairs {
  private final QuantizedProduct product;

  StoredProduct(QuantizedProduct product, Pairs pairs, Budget budget) {
    super(product.activation(), pairs, budget);
    this.product = product;
  }

  @Override
  void compute(int[] values, int count) {
    for (int i = 0; i < count; i++) {
      values[i] *= values[PART + i];
    }
    Factor.apply(product.output(), values, 0, count);
  }
}
