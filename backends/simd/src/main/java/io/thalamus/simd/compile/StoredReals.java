// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.IntRange;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Tensor;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

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
  private final IntRange range;
  private final Tensor first;
  private final Tensor second;
  private final float scale;
  private final int zeroPoint;

  StoredReals(Kind kind, IntRange range, Pairs pairs, Budget budget) {
    super(pairs, 4, budget);
    this.kind = kind;
    this.range = range;
    first = pairs.left();
    second = pairs.right();
    scale = pairs.output().view().scale();
    zeroPoint = pairs.output().view().zeroPoint();
  }

  @Override
  void apply(
      boolean isScalar,
      int[] sums,
      byte[] left,
      int leftAt,
      byte[] right,
      int rightAt,
      byte[] out,
      int to,
      int count) {
    if (isScalar) {
      for (int i = 0; i < count; i++) {
        float a = real(first, left[leftAt + i]);
        float b = real(second, right[rightAt + i]);
        float result =
            switch (kind) {
              case ADD -> a + b;
              case SUB -> a - b;
              case MUL -> a * b;
            };
        long whole = (int) Math.rint(result / scale);
        out[to + i] = (byte) Math.clamp(whole + zeroPoint, range.min(), range.max());
      }
      return;
    }
    for (int i = 0; i < count; i += Lanes.COUNT) {
      FloatVector a = reals(first, left, leftAt + i);
      FloatVector b = reals(second, right, rightAt + i);
      FloatVector result =
          switch (kind) {
            case ADD -> a.add(b);
            case SUB -> a.sub(b);
            case MUL -> a.mul(b);
          };
      Lanes.toBytes(
          Lanes.nearest(result.div(scale)).add(zeroPoint).max(range.min()).min(range.max()),
          out,
          to + i);
    }
  }

  private static float real(Tensor tensor, byte stored) {
    return ((byte) (stored ^ tensor.flip()) - tensor.signedZeroPoint()) * tensor.view().scale();
  }

  private static FloatVector reals(Tensor tensor, byte[] stored, int at) {
    return ((FloatVector)
            Lanes.toInts(stored, at, tensor.flip())
                .sub(tensor.signedZeroPoint())
                .convert(VectorOperators.I2F, 0))
        .mul(tensor.view().scale());
  }
}
