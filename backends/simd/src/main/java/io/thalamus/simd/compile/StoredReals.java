// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.IntRange;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;

/**
 * A function of the real numbers that two tensors of stored bytes stand for, divided by the scale
 * and rounded to the even one of two neighbours.
 */
public final class StoredReals extends StoredPairs {
  /** A function of two numbers. */
  enum Kind {
    ADD,
    SUB,
    MUL
  }

  private final Kind kind;
  private final float firstScale;
  private final float secondScale;
  private final float scale;

  StoredReals(Kind kind, IntRange range, Pairs pairs, Budget budget) {
    super(range, pairs, budget);
    this.kind = kind;
    firstScale = pairs.left().view().scale();
    secondScale = pairs.right().view().scale();
    scale = pairs.output().view().scale();
  }

  @Override
  void compute(int[] values, int count) {
    float first = firstScale;
    float second = secondScale;
    float divisor = scale;
    switch (kind) {
      case ADD -> {
        for (int i = 0; i < count; i++) {
          values[i] = Lanes.nearest((values[i] * first + values[PART + i] * second) / divisor);
        }
      }
      case SUB -> {
        for (int i = 0; i < count; i++) {
          values[i] = Lanes.nearest((values[i] * first - values[PART + i] * second) / divisor);
        }
      }
      case MUL -> {
        for (int i = 0; i < count; i++) {
          values[i] = Lanes.nearest(values[i] * first * (values[PART + i] * second) / divisor);
        }
      }
    }
  }
}
