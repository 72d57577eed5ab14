// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The factors of weights that were stored in 8 bits. */
class StoredFactorsTest {
  private static final int DEPTH = 50;
  private static final int CHANNELS = 9;

  private final Random random = new Random(seed());

  private static long seed() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("StoredFactorsTest seed " + seed);
    return seed;
  }

  private static float[] factors(float[] weights) {
    return StoredFactors.of(
        (channel, to) -> System.arraycopy(weights, channel * DEPTH, to, 0, DEPTH), DEPTH, CHANNELS);
  }

  private static void assertWholeNumbers(byte[] stored, float[] weights) {
    float[] factors = factors(weights);
    assertEquals(CHANNELS, factors.length);
    byte[] found = new byte[weights.length];
    float[] products = new float[weights.length];
    for (int i = 0; i < weights.length; i++) {
      found[i] = StoredFactors.stored(weights[i], factors[i / DEPTH]);
      products[i] = found[i] * factors[i / DEPTH];
    }
    assertArrayEquals(weights, products);
    assertArrayEquals(stored, found);
  }

  private byte[] stored(int least) {
    byte[] stored = new byte[CHANNELS * DEPTH];
    for (int i = 0; i < stored.length; i++) {
      stored[i] = (byte) (least + random.nextInt(Byte.MAX_VALUE - least));
    }
    return stored;
  }

  /** The largest of all is 127, or -128, in one channel alone; many factors, since each rounds. */
  @ParameterizedTest
  @ValueSource(ints = {127, -128})
  void oneFactorOfALayer(int largest) {
    for (int round = 0; round < 200; round++) {
      byte[] stored = stored(-127);
      stored[CHANNELS / 2 * DEPTH + 3] = (byte) largest;
      float factor = (float) Math.exp(-8 * random.nextDouble());
      float[] weights = new float[stored.length];
      for (int i = 0; i < weights.length; i++) {
        weights[i] = stored[i] * factor;
      }
      assertWholeNumbers(stored, weights);
    }
  }

  @Test
  void factorsOfChannels() {
    for (int round = 0; round < 200; round++) {
      byte[] stored = stored(-127);
      float[] weights = new float[stored.length];
      for (int c = 0; c < CHANNELS; c++) {
        stored[c * DEPTH + random.nextInt(DEPTH)] = 127;
        float factor = (float) Math.exp(-8 * random.nextDouble());
        for (int i = c * DEPTH; i < (c + 1) * DEPTH; i++) {
          weights[i] = stored[i] * factor;
        }
      }
      assertWholeNumbers(stored, weights);
    }
  }

  /** One weight more or less, or none that is a number, and all are floats. */
  @ParameterizedTest
  @ValueSource(floats = {0.3f, Float.NaN, Float.POSITIVE_INFINITY})
  void oneOtherWeight(float other) {
    byte[] stored = stored(-127);
    stored[0] = 127;
    float[] weights = new float[stored.length];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = stored[i] * 0.25f;
    }
    assertEquals(CHANNELS, factors(weights).length);
    weights[random.nextInt(weights.length)] = other;
    assertEquals(0, factors(weights).length);
  }

  @Test
  void floatsHaveNone() {
    float[] weights = new float[CHANNELS * DEPTH];
    assertEquals(0, factors(weights).length);
    for (int i = 0; i < weights.length; i++) {
      weights[i] = random.nextFloat() - 0.5f;
    }
    assertEquals(0, factors(weights).length);
    Arrays.fill(weights, Float.MIN_VALUE);
    assertEquals(0, factors(weights).length);
  }
}
