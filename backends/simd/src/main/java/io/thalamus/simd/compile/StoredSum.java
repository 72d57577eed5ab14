// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Elementwise.QuantizedSum;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.program.Budget;

/** The sum or the difference of two tensors of stored bytes. */
public final class StoredSum extends StoredPairs {
  private final QuantizedSum sum;

  StoredSum(QuantizedSum sum, Pairs pairs, Budget budget) {
    super(sum.activation(), pairs, budget);
    this.sum = sum;
  }

  @Override
  void compute(int[] values, int count) {
    int shift = sum.leftShift();
    for (int i = 0; i < count; i++) {
      values[i] <<= shift;
    }
    for (int i = PART; i < PART + count; i++) {
      values[i] <<= shift;
    }
    Factor.apply(sum.input1(), values, 0, count);
    Factor.apply(sum.input2(), values, PART, count);
    for (int i = 0; i < count; i++) {
      values[i] += values[PART + i];
    }
    Factor.apply(sum.output(), values, 0, count);
  }
}
