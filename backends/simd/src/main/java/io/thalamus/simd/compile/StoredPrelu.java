// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Activation.QuantizedPrelu;
import io.thalamus.simd.kernel.Factor;
import io.thalamus.simd.program.Budget;

/** Stored bytes, those below zero times others. */
public final class StoredPrelu extends StoredPairs {
  private final QuantizedPrelu prelu;

  StoredPrelu(QuantizedPrelu prelu, Pairs pairs, Budget budget) {
    super(prelu.range(), pairs, budget);
    this.prelu = prelu;
  }

  @Override
  void compute(int[] values, int count) {
    for (int i = 0; i < count; i++) {
      values[PART + i] *= Math.min(values[i], 0);
      values[i] = Math.max(values[i], 0);
    }
    Factor.apply(prelu.positive(), values, 0, count);
    Factor.apply(prelu.negative(), values, PART, count);
    // One of the two is 0.
    for (int i = 0; i < count; i++) {
      values[i] += values[PART + i];
    }
  }
}
