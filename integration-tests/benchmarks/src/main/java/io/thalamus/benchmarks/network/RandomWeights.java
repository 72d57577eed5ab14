// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import java.util.SplittableRandom;

/**
 * Weights that keep activations in range: uniform noise whose variance is 2 / fan-in before a ReLU
 * and 1 / fan-in elsewhere (He et al. 2015), so that a value's variance neither grows nor vanishes
 * from layer to layer. The same seed gives the same weights. Not thread-safe.
 */
final class RandomWeights {
  private static final double BIAS = 0.1;

  /** The variance of uniform noise in [-1, 1] is 1/3. */
  private static final double VARIANCE = 1.0 / 3;

  private final SplittableRandom random;

  RandomWeights(long seed) {
    random = new SplittableRandom(seed);
  }

  float[] weights(int count, int fanIn, Network.Activation activation) {
    double gain = activation == Network.Activation.NONE ? 1 : 2;
    return noise(count, Math.sqrt(gain / fanIn / VARIANCE));
  }

  float[] bias(int count) {
    return noise(count, BIAS);
  }

  private float[] noise(int count, double bound) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextDouble(-bound, bound);
    }
    return values;
  }
}
