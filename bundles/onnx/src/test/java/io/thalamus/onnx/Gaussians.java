// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import java.util.Random;

/** Random numbers around 0, as the weights and inputs of networks are. Stateless. */
final class Gaussians {
  private Gaussians() {}

  /** Returns so many numbers with a deviation of 1. */
  static float[] floats(Random random, int count) {
    float[] numbers = new float[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = (float) random.nextGaussian();
    }
    return numbers;
  }
}
