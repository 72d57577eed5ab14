// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import java.util.Arrays;
import java.util.List;

/** 8-bit SOFTMAX over long lines of scores that hardly differ, against the formula in float64. */
public final class EqualScores {
  /** Around each power of two from which on sums and products need another bit. */
  private static final int[] LENGTHS = {2, 255, 511, 512, 513, 1023, 1024, 2048, 4095, 4096, 9000};

  private static final float SCALE = 0.01f;

  private EqualScores() {}

  /**
   * Fails where a probability is wrong by more than a stored unit.
   *
   * @param longest the longest line that the device takes
   */
  public static void check(Device device, int longest) throws DeviceException {
    for (OperandCode type : List.of(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)) {
      for (int length : LENGTHS) {
        for (int different = 1; length <= longest && different < 4; different++) {
          check(device, type, length, different);
        }
      }
    }
  }

  private static void check(Device device, OperandCode type, int length, int different)
      throws DeviceException {
    int least = type == TENSOR_QUANT8_ASYMM ? 0 : Byte.MIN_VALUE;
    byte[] scores = new byte[length];
    for (int i = 0; i < length; i++) {
      scores[i] = (byte) (i % different);
    }
    byte[] results;
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(type, Quantization.of(SCALE, 0), 1, length);
      int output = graph.output(type, Quantization.of(1f / 256, least), 1, length);
      graph.operation(OperationCode.SOFTMAX, List.of(input, graph.float32(1)), output);
      results = TestGraph.run(device, graph.model(), scores);
    }
    double[] powers = new double[length];
    Arrays.setAll(powers, i -> Math.exp((double) SCALE * scores[i]));
    double sum = Arrays.stream(powers).sum();
    for (int i = 0; i < length; i++) {
      int stored = least == 0 ? Byte.toUnsignedInt(results[i]) : results[i];
      double wanted = Math.min(256 * powers[i] / sum, 255);
      Expect.that(
          Math.abs(stored - least - wanted) <= 1,
          "of %d scores, probability %d is %d/256, not %.2f/256"
              .formatted(length, i, stored - least, wanted));
    }
  }
}
