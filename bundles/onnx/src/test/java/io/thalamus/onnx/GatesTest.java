// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Steps of language models that ONNX Runtime has of its own, beside formulas in double. */
class GatesTest {
  private static final String DOMAIN = "com.microsoft.";
  private static final double NEAR = 2e-5;

  private final Random random = new Random(3);
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private float[] numbers(int count) {
    return Gaussians.floats(random, count);
  }

  private static double logistic(double x) {
    return 1 / (1 + Math.exp(-x));
  }

  /** The root of the mean of squares of so many numbers. */
  private static double size(float[] x, int first, int count, double epsilon) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
      sum += (double) x[first + i] * x[first + i];
    }
    return Math.sqrt(sum / count + epsilon);
  }

  /** Two groups of three numbers in each row have the same three scales. */
  @Test
  void groupsAreNormalizedAndLetThrough() throws Exception {
    float[] scale = numbers(3);
    float[] gate = numbers(12);
    file.input("x", FLOAT, 1, 2, 6)
        .floats("scale", new long[] {3}, scale)
        .floats("gate", new long[] {1, 2, 6}, gate)
        .node(DOMAIN + "GatedRMSNorm", List.of("x", "scale", "gate"), "y", real("epsilon", 0.1f))
        .output("y", FLOAT, 1, 2, 6);
    float[] x = numbers(12);
    float[] y = TestFiles.run(file, x);
    for (int i = 0; i < y.length; i++) {
      double normal = x[i] / size(x, i / 3 * 3, 3, 0.1f) * scale[i % 3];
      assertEquals(normal * gate[i] * logistic(gate[i]), y[i], NEAR);
    }
  }

  @Test
  void sumsTakeWhatAGateLetsThrough() throws Exception {
    file.input("x", FLOAT, 2, 2)
        .floats("z", new long[] {2, 2}, 1, 2, 3, 4)
        .floats("gate", new long[] {2, 1}, 0.5f, -2)
        .node(DOMAIN + "GatedAdd", List.of("x", "z", "gate"), "y")
        .output("y", FLOAT, 2, 2);
    assertArrayEquals(new float[] {10.5f, 21, 24, 32}, TestFiles.run(file, 10, 20, 30, 40));
  }

  @ParameterizedTest
  @ValueSource(strings = {"decay", "rate"})
  void gatesOfLinearAttention(String asked) throws Exception {
    float[] bias = numbers(2);
    float[] factor = numbers(2);
    float[] rate = numbers(6);
    file.input("x", FLOAT, 1, 3, 2)
        .floats("bias", new long[] {2}, bias)
        .floats("factor", new long[] {2}, factor)
        .floats("b", new long[] {1, 3, 2}, rate)
        .node(
            DOMAIN + "LinearAttentionGate",
            List.of("x", "bias", "factor", "b"),
            List.of("decay", "rate"))
        .output(asked, FLOAT, 1, 3, 2);
    float[] x = numbers(6);
    float[] y = TestFiles.run(file, x);
    for (int i = 0; i < y.length; i++) {
      double decay = factor[i % 2] * Math.log1p(Math.exp(x[i] + bias[i % 2]));
      assertEquals(asked.equals("decay") ? decay : logistic(rate[i]), y[i], NEAR);
    }
  }

  /** Two streams, whose keys are alike or opposed. */
  @Test
  void valuesAreLetThroughByHowAlikeKeysAre() throws Exception {
    float[] query = numbers(2 * 2 * 4);
    float[] value = numbers(2 * 4);
    float[] keyScale = numbers(8);
    float[] queryScale = numbers(8);
    file.input("x", FLOAT, 1, 2, 2, 4)
        .floats("query", new long[] {1, 2, 2, 4}, query)
        .floats("value", new long[] {1, 2, 4}, value)
        .floats("ks", new long[] {2, 4}, keyScale)
        .floats("qs", new long[] {2, 4}, queryScale)
        .node(DOMAIN + "EngramGate", List.of("x", "query", "value", "ks", "qs"), "y")
        .output("y", FLOAT, 1, 2, 2, 4);
    float[] key = numbers(16);
    float[] y = TestFiles.run(file, key);
    for (int i = 0; i < y.length; i++) {
      int first = i / 4 * 4;
      double dot = 0;
      for (int k = 0; k < 4; k++) {
        int scale = first % 8 + k;
        dot +=
            key[first + k]
                / size(key, first, 4, 1e-5)
                * keyScale[scale]
                * query[first + k]
                / size(query, first, 4, 1e-5)
                * queryScale[scale];
      }
      dot /= 2;
      double gate = logistic(Math.signum(dot) * Math.sqrt(Math.max(Math.abs(dot), 1e-6)));
      assertEquals(gate * value[i / 8 * 4 + i % 4], y[i], NEAR);
    }
  }

  /** Each number of a head turns by its place in time, height or width; a scale is not used. */
  @ParameterizedTest
  @CsvSource({"0, 00112", "1, 01201"})
  void placesHaveThreePositions(int layout, String streams) throws Exception {
    int half = 5;
    float[] cos = numbers(6 * half);
    float[] sin = numbers(6 * half);
    long[] positions = {0, 1, 2, 3, 5, 4};
    file.input("x", FLOAT, 1, 1, 2, 12)
        .integers("positions", new long[] {3, 1, 2}, positions)
        .floats("cos", new long[] {6, half}, cos)
        .floats("sin", new long[] {6, half}, sin)
        .node(
            DOMAIN + "MRotaryEmbedding",
            List.of("x", "positions", "cos", "sin"),
            "y",
            integer("rotary_embedding_dim", 2 * half),
            integer("num_heads", 1),
            integer("mrope_layout", layout),
            ints("mrope_section", 2, 2, 1),
            real("scale", 3))
        .output("y", FLOAT, 1, 1, 2, 12);
    float[] x = numbers(24);
    float[] y = TestFiles.run(file, x);
    for (int i = 0; i < y.length; i++) {
      int place = i % 12;
      double expected = x[i];
      if (place < 2 * half) {
        int angle = place % half;
        int stream = streams.charAt(angle) - '0';
        int at = (int) positions[stream * 2 + i / 12] * half + angle;
        double other = x[i + (place < half ? half : -half)];
        expected = x[i] * cos[at] + (place < half ? -other : other) * sin[at];
      }
      assertEquals(expected, y[i], NEAR, "number " + i);
    }
  }

  // ---- others of ONNX Runtime, and a product that ONNX has ----

  @Test
  void windowsOverlap() throws Exception {
    file.input("x", FLOAT, 5, 2)
        .node(
            DOMAIN + "UnfoldTensor",
            List.of("x"),
            "y",
            integer("dim", 0),
            integer("size", 3),
            integer("step", 2))
        .output("y", FLOAT, 2, 2, 3);
    assertArrayEquals(
        new float[] {0, 2, 4, 1, 3, 5, 4, 6, 8, 5, 7, 9},
        TestFiles.run(file, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }

  @Test
  void wideIntegersAreMultiplied() throws Exception {
    file.input("x", FLOAT, 1, 2)
        .node("Cast", List.of("x"), "a", integer("to", 5))
        .bytes("b", 5, new long[] {2, 1}, 0x10, 0x27, 0xf0, 0xd8)
        .node(DOMAIN + "MatMulInteger16", List.of("a", "b"), "c")
        .node("Cast", List.of("c"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 1, 1);
    assertArrayEquals(new float[] {300_000_000}, TestFiles.run(file, 20_000, -10_000));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, '2, 6, -6, -3, -6'", "0, 1, '-6, -3, -1, 1, 2'",
    "1, 0, '1, 2, 6, -6, -3'", "1, 1, '-3, -1, 1, 2, 1'"
  })
  void productsOfAllBefore(int isExclusive, int isReverse, String expected) throws Exception {
    file.input("x", FLOAT, 5)
        .integers("axis", new long[0], 0)
        .node(
            "CumProd",
            List.of("x", "axis"),
            "y",
            integer("exclusive", isExclusive),
            integer("reverse", isReverse))
        .output("y", FLOAT, 5);
    String[] words = expected.split(", ");
    float[] products = new float[5];
    for (int i = 0; i < 5; i++) {
      products[i] = Float.parseFloat(words[i]);
    }
    assertArrayEquals(products, TestFiles.run(file, 2, 3, -1, 0.5f, 2));
  }
}
