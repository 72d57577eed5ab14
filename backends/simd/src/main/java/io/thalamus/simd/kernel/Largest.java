// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static jdk.incubator.vector.VectorOperators.GT;
import static jdk.incubator.vector.VectorOperators.MAX;

import jdk.incubator.vector.FloatVector;

/** The largest of some numbers. Stateless. */
public final class Largest {
  private Largest() {}

  /** Returns the largest of some numbers and 0; NaN is none. */
  public static float number(boolean isScalar, float[] in, int from, int count) {
    float best = 0;
    int i = 0;
    if (count >= COUNT && !isScalar) {
      FloatVector vector = FloatVector.zero(FLOATS);
      for (; i <= count - COUNT; i += COUNT) {
        FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
        vector = vector.blend(x, x.compare(GT, vector));
      }
      best = vector.reduceLanes(MAX);
    }
    for (; i < count; i++) {
      best = in[from + i] > best ? in[from + i] : best;
    }
    return best;
  }
}
