// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WeightCodecTest {
  @ParameterizedTest
  @ValueSource(doubles = {0, 0.7, 3, 20, 90, 1000})
  void givesBackWhatItPacked(double deviation) throws CommandFormatException {
    Random random = new Random(7);
    for (int size : new int[] {0, 1, 7, 8, 1000}) {
      for (int center : new int[] {0, -128, 127, 5}) {
        byte[] weights = new byte[size];
        for (int i = 0; i < size; i++) {
          weights[i] =
              (byte) Math.clamp(Math.round(center + deviation * random.nextGaussian()), -128, 127);
        }
        byte[] packed = WeightCodec.pack(weights, center);
        assertEquals(packed.length, WeightCodec.packedSize(weights, center));
        assertTrue(packed.length <= size + 2, "packed weights are never much larger");
        byte[] file = new byte[packed.length + 6];
        System.arraycopy(packed, 0, file, 3, packed.length);
        assertArrayEquals(weights, WeightCodec.unpack(file, 3, packed.length, size));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 9, 2000})
  void refusesWhatEndsTooEarly(int missing) {
    byte[] weights = new byte[8000];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = (byte) (i % 5 - 2);
    }
    byte[] packed = WeightCodec.pack(weights, 0);
    int length = packed.length - missing;
    assertThrows(
        CommandFormatException.class, () -> WeightCodec.unpack(packed, 0, length, weights.length));
  }
}
