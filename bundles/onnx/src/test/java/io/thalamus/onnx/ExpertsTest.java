// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Mixtures of experts with stored weights beside loops in double, checked with ONNX Runtime. */
class ExpertsTest {
  private static final int UINT8 = 2;
  private static final int EXPERTS = 3;
  private static final int ROWS = 4;
  private static final int WIDTH = 64;
  private static final int SIZE = 64;
  private static final float SLOPE = 1.702f;
  private static final float LIMIT = 1.5f;

  private final Random random = new Random(11);
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private float[] numbers(int count) {
    return Gaussians.floats(random, count);
  }

  /** The stored weights of a layer, and what they stand for. */
  private final class Layer {
    private final int results;
    private final int inputs;
    private final int bits;
    private final int block;
    private final boolean hasZeros;
    private final int[] stored;
    private final int[] zeros;
    private final float[] scales;

    Layer(String name, int results, int inputs, int bits, int block, boolean hasZeros) {
      this.results = results;
      this.inputs = inputs;
      this.bits = bits;
      this.block = block == 0 ? inputs : block;
      this.hasZeros = hasZeros;
      int blocks = inputs / this.block;
      stored = random.ints((long) EXPERTS * results * inputs, 0, 1 << bits).toArray();
      zeros = random.ints((long) EXPERTS * results * blocks, 0, 1 << bits).toArray();
      scales = new float[zeros.length];
      for (int i = 0; i < scales.length; i++) {
        scales[i] = 0.002f + 0.004f * random.nextFloat();
      }
      file.bytes(name, UINT8, new long[] {EXPERTS, results, inputs * bits / 8}, packed(stored));
      long[] shape =
          block == 0 ? new long[] {EXPERTS, results} : new long[] {EXPERTS, results, blocks};
      file.floats(name + " scales", shape, scales);
      if (hasZeros) {
        int[] bytes = packed(zeros);
        long[] packedShape =
            block == 0
                ? new long[] {EXPERTS, bytes.length / EXPERTS}
                : new long[] {EXPERTS, results, bytes.length / EXPERTS / results};
        file.bytes(name + " zeros", UINT8, packedShape, bytes);
      }
    }

    private int[] packed(int... numbers) {
      int[] bytes = new int[numbers.length * bits / 8];
      for (int i = 0; i < numbers.length; i++) {
        bytes[i * bits / 8] |= numbers[i] << i * bits % 8;
      }
      return bytes;
    }

    double[] times(int expert, double... x) {
      double[] sums = new double[results];
      for (int i = 0; i < results; i++) {
        for (int k = 0; k < inputs; k++) {
          int row = expert * results + i;
          int part = row * (inputs / block) + k / block;
          int zero = hasZeros ? zeros[part] : 1 << bits - 1;
          sums[i] += (stored[row * inputs + k] - zero) * (double) scales[part] * x[k];
        }
      }
      return sums;
    }
  }

  private static double gated(double gate, double linear) {
    double open = Math.min(gate, LIMIT);
    return open / (1 + Math.exp(-SLOPE * open)) * (Math.clamp(linear, -LIMIT, LIMIT) + 1);
  }

  /** Of three experts the two likeliest compute a row, and share it as if there were no other. */
  @ParameterizedTest
  @CsvSource({"4, 16, true, false", "4, 0, false, false", "8, 0, true, true", "2, 16, true, false"})
  void storedExpertsAreMixed(int bits, int block, boolean hasZeros, boolean areShared)
      throws Exception {
    float[] router = numbers(ROWS * EXPERTS);
    float[] shares = numbers(ROWS * EXPERTS);
    Layer first = new Layer("w1", 2 * SIZE, WIDTH, bits, block, hasZeros);
    Layer second = new Layer("w2", WIDTH, SIZE, bits, block, hasZeros);
    float[] bias = numbers(EXPERTS * 2 * SIZE);
    List<String> inputs = new ArrayList<>(List.of("x", "router", "w1", "w1 scales", "bias"));
    inputs.addAll(List.of("w2", "w2 scales", "", "", "", ""));
    inputs.addAll(hasZeros ? List.of("w1 zeros", "w2 zeros", "") : List.of("", "", ""));
    inputs.add(areShared ? "shares" : "");
    file.input("x", FLOAT, ROWS, WIDTH)
        .floats("router", new long[] {ROWS, EXPERTS}, router)
        .floats("shares", new long[] {ROWS, EXPERTS}, shares)
        .floats("bias", new long[] {EXPERTS, 2 * SIZE}, bias)
        .node(
            "com.microsoft.QMoE",
            inputs,
            "y",
            integer("k", 2),
            integer("expert_weight_bits", bits),
            integer("block_size", block),
            integer("swiglu_fusion", 1),
            real("activation_alpha", SLOPE),
            real("activation_beta", 1),
            real("swiglu_limit", LIMIT),
            text("activation_type", "swiglu"))
        .output("y", FLOAT, ROWS, WIDTH);
    float[] x = numbers(ROWS * WIDTH);
    float[] y = TestFiles.run(file, x);
    for (int row = 0; row < ROWS; row++) {
      double[] in = new double[WIDTH];
      int least = 0;
      double sum = 0;
      for (int i = 0; i < WIDTH; i++) {
        in[i] = x[row * WIDTH + i];
      }
      for (int e = 0; e < EXPERTS; e++) {
        least = router[row * EXPERTS + e] < router[row * EXPERTS + least] ? e : least;
        sum += Math.exp(router[row * EXPERTS + e]);
      }
      sum -= Math.exp(router[row * EXPERTS + least]);
      double[] expected = new double[WIDTH];
      for (int e = 0; e < EXPERTS; e++) {
        int at = row * EXPERTS + e;
        double share = areShared ? shares[at] : Math.exp(router[at]) / sum;
        double[] inner = first.times(e, in);
        double[] hidden = new double[SIZE];
        for (int i = 0; i < SIZE; i++) {
          int unit = e * 2 * SIZE + 2 * i;
          hidden[i] = gated(inner[2 * i] + bias[unit], inner[2 * i + 1] + bias[unit + 1]);
        }
        double[] result = second.times(e, hidden);
        for (int i = 0; e != least && i < WIDTH; i++) {
          expected[i] += share * result[i];
        }
      }
      for (int i = 0; i < WIDTH; i++) {
        assertEquals(expected[i], y[row * WIDTH + i], 1e-4, "row " + row);
      }
    }
  }
}
