// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.simd.Widths;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Stored results of sums, by vectors and one after the other, against the definition. */
@Widths
class RequantizerTest {
  private static final int ROWS = 37;

  /** Sums so large are floats. */
  private static final int LARGEST = 1 << 24;

  @Test
  void resultsAreThoseOfTheDefinition() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("RequantizerTest seed " + seed);
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      Rounding rounding = Rounding.values()[round % 3];
      int channels = 1 + random.nextInt(40);
      int zeroPoint = random.nextInt(256) - 128;
      List<Requantization> factors = new ArrayList<>();
      int[] bias = new int[channels];
      for (int c = 0; c < channels; c++) {
        // Powers of two have results that are halfway between two integers.
        double power = Math.scalb(1.0, 1 - random.nextInt(round % 2 == 0 ? 15 : 36));
        double factor = random.nextBoolean() ? power : power * (1 + random.nextDouble());
        factors.add(Requantization.of(factor, rounding));
        // Such as those of channels whose weights have vanished.
        bias[c] = random.nextInt(8) == 0 ? random.nextInt() : random.nextInt(2000) - 1000;
      }
      Accumulation accumulation =
          new Accumulation(0, 0, zeroPoint, factors, new IntRange(-128, 127 - random.nextInt(50)));
      Requantizer requantizer = new Requantizer(accumulation, bias);
      float[] floats = new float[ROWS * channels + Lanes.SLACK];
      int[] ints = new int[floats.length];
      for (int i = 0; i < ROWS * channels; i++) {
        double near = (random.nextInt(600) - 300) / factors.get(i % channels).factor();
        ints[i] = (int) Math.clamp(near + random.nextInt(5) / 2.0, -LARGEST, LARGEST);
        ints[i] = Math.clamp((long) ints[i] - bias[i % channels], -LARGEST, LARGEST);
        floats[i] = ints[i];
      }
      for (boolean isScalar : new boolean[] {false, true}) {
        byte[] ofFloats = new byte[floats.length];
        byte[] ofInts = new byte[floats.length];
        byte[] spare = new byte[Lanes.SLACK];
        requantizer.store(
            isScalar, floats, 0, channels, ROWS, 0, channels, ofFloats, 0, channels, spare);
        requantizer.store(
            isScalar, ints, 0, channels, ROWS, 0, channels, ofInts, 0, channels, spare);
        for (int i = 0; i < ROWS * channels; i++) {
          int channel = i % channels;
          int wanted = accumulation.stored(ints[i] + bias[channel], channel);
          String message = "%s, round %d, element %d".formatted(rounding, round, i);
          assertEquals(wanted, ofFloats[i], message);
          assertEquals(wanted, ofInts[i], message);
        }
      }
    }
  }
}
