// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import java.util.Random;

/** The random numbers of a test, whose seed it prints. Not thread-safe. */
final class Seeded extends Random {
  private static final long serialVersionUID = 1L;

  Seeded(Class<?> test) {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println(test.getSimpleName() + " seed " + seed);
    super(seed);
  }

  int pick(int... values) {
    return values[nextInt(values.length)];
  }

  float[] floats(double size, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) (nextGaussian() * size);
    }
    return values;
  }
}
