// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.reals;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Operators of ONNX Runtime's own beside loops that compute the same. */
class ContributedTest {
  private static final int INT32 = 6;
  private static final String DOMAIN = "com.microsoft.";

  private long seed = System.nanoTime();
  private Random random = new Random(seed);
  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private float[] numbers(int count) {
    return Gaussians.floats(random, count);
  }

  private void assertNear(double[] expected, float[] actual) {
    assertArrayEquals(
        expected,
        IntStream.range(0, actual.length).mapToDouble(i -> actual[i]).toArray(),
        1e-4,
        "seed " + seed);
  }

  // ---- cut images ----

  /** One box within its image, and one that reaches out of it on all sides. */
  @ParameterizedTest
  @ValueSource(strings = {"bilinear", "nearest"})
  void boxesAreCutOutOfImages(String mode) throws Exception {
    float[] boxes = {0.1f, 0.2f, 0.85f, 0.7f, -0.3f, -0.2f, 1.4f, 1.1f};
    float[] x = numbers(2 * 2 * 5 * 4);
    file.input("x", FLOAT, 2, 2, 5, 4)
        .floats("boxes", new long[] {2, 4}, boxes)
        .bytes("images", INT32, new long[] {2}, 1, 0, 0, 0, 0, 0, 0, 0)
        .bytes("size", INT32, new long[] {2}, 4, 0, 0, 0, 3, 0, 0, 0)
        .node(
            DOMAIN + "CropAndResize",
            List.of("x", "boxes", "images", "size"),
            "y",
            text("mode", mode),
            real("extrapolation_value", 7))
        .output("y", FLOAT, 2, 2, 4, 3);
    double[] expected = new double[2 * 2 * 4 * 3];
    for (int i = 0; i < expected.length; i++) {
      int box = i / 24;
      double v = place(boxes[4 * box], boxes[4 * box + 2], i / 3 % 4, 4, 5);
      double h = place(boxes[4 * box + 1], boxes[4 * box + 3], i % 3, 3, 4);
      int start = ((1 - box) * 2 + i / 12 % 2) * 20;
      expected[i] =
          v < 0 || v > 4 || h < 0 || h > 3 ? 7 : sample(x, start, v, h, mode.equals("nearest"));
    }
    assertNear(expected, TestFiles.run(file, x));
  }

  private static double place(double first, double last, int index, int size, int input) {
    return (first + (last - first) * index / (size - 1)) * (input - 1);
  }

  private static double sample(float[] x, int start, double v, double h, boolean isNearest) {
    if (isNearest) {
      return x[start + (int) Math.round(v) * 4 + (int) Math.round(h)];
    }
    double sum = 0;
    for (int row = 0; row < 5; row++) {
      for (int column = 0; column < 4; column++) {
        double weight = Math.max(0, 1 - Math.abs(v - row)) * Math.max(0, 1 - Math.abs(h - column));
        sum += weight * x[start + row * 4 + column];
      }
    }
    return sum;
  }

  // ---- experts ----

  /** Of three experts the two likeliest compute a row. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void likelyExpertsAreMixed(int isNormalized) throws Exception {
    float[] router = numbers(4 * 3);
    float[] w1 = numbers(3 * 5 * 2);
    float[] b1 = numbers(3 * 5);
    float[] w2 = numbers(3 * 2 * 5);
    file.input("x", FLOAT, 4, 2)
        .floats("router", new long[] {4, 3}, router)
        .floats("w1", new long[] {3, 5, 2}, w1)
        .floats("b1", new long[] {3, 5}, b1)
        .floats("w2", new long[] {3, 2, 5}, w2)
        .node(
            DOMAIN + "MoE",
            List.of("x", "router", "w1", "b1", "w2"),
            "y",
            integer("k", 2),
            integer("normalize_routing_weights", isNormalized),
            text("activation_type", "silu"))
        .output("y", FLOAT, 4, 2);
    float[] x = numbers(4 * 2);
    double[] expected = new double[4 * 2];
    for (int row = 0; row < 4; row++) {
      double sum = 0;
      double least = Double.POSITIVE_INFINITY;
      for (int e = 0; e < 3; e++) {
        sum += Math.exp(router[row * 3 + e]);
        least = Math.min(least, Math.exp(router[row * 3 + e]));
      }
      for (int e = 0; e < 3; e++) {
        double gate = Math.exp(router[row * 3 + e]);
        if (gate == least) {
          continue;
        }
        gate /= isNormalized == 1 ? sum - least : sum;
        for (int j = 0; j < 5; j++) {
          int unit = e * 5 + j;
          double inner = b1[unit] + w1[unit * 2] * x[row * 2] + w1[unit * 2 + 1] * x[row * 2 + 1];
          for (int i = 0; i < 2; i++) {
            expected[row * 2 + i] +=
                gate * w2[(e * 2 + i) * 5 + j] * inner / (1 + Math.exp(-inner));
          }
        }
      }
    }
    assertNear(expected, TestFiles.run(file, x));
  }

  // ---- attention ----

  /** The buffer has room for four keys, of which two are there; the new one is the third. */
  @Test
  void newKeyIsSeenBehindStoredOnes() throws Exception {
    float[] past = numbers(4 * 2);
    float[] values = numbers(4 * 2);
    float[] key = numbers(2);
    float[] value = numbers(2);
    file.input("q", FLOAT, 1, 1, 2)
        .floats("k", new long[] {1, 1, 2}, key)
        .floats("v", new long[] {1, 1, 2}, value)
        .floats("past", new long[] {1, 1, 4, 2}, past)
        .floats("values", new long[] {1, 1, 4, 2}, values)
        .bytes("length", INT32, new long[] {1}, 2, 0, 0, 0)
        .node(
            DOMAIN + "DecoderMaskedMultiHeadAttention",
            List.of("q", "k", "v", "", "", "past", "values", "length"),
            "y",
            integer("num_heads", 1),
            integer("past_present_share_buffer", 1),
            real("scale", 0.5f))
        .output("y", FLOAT, 1, 1, 2);
    System.arraycopy(key, 0, past, 4, 2);
    System.arraycopy(value, 0, values, 4, 2);
    float[] query = numbers(2);
    double[] expected = new double[2];
    double sum = 0;
    for (int i = 0; i < 3; i++) {
      double weight = Math.exp(0.5 * (query[0] * past[2 * i] + query[1] * past[2 * i + 1]));
      sum += weight;
      expected[0] += weight * values[2 * i];
      expected[1] += weight * values[2 * i + 1];
    }
    expected[0] /= sum;
    expected[1] /= sum;
    assertNear(expected, TestFiles.run(file, query));
  }

  // ---- hashes ----

  private static int murmur(int value, int seed) {
    int block = Integer.rotateLeft(value * 0xcc9e2d51, 15) * 0x1b873593;
    int hash = Integer.rotateLeft(seed ^ block, 13) * 5 + 0xe6546b64;
    hash ^= 4;
    hash = (hash ^ hash >>> 16) * 0x85ebca6b;
    hash = (hash ^ hash >>> 13) * 0xc2b2ae35;
    return hash ^ hash >>> 16;
  }

  @Test
  void numbersAreHashed() throws Exception {
    int[] x = random.ints(50).toArray();
    file.input("x", INT32, 50)
        .node(
            DOMAIN + "MurmurHash3", List.of("x"), "y", integer("seed", 42), integer("positive", 0))
        .output("y", INT32, 50);
    int[] expected = IntStream.of(x).map(value -> murmur(value, 42)).toArray();
    assertArrayEquals(
        TestGraph.bytes(expected),
        TestGraph.run(new CpuDevice("1.0.0"), TestFiles.read(file.build()), TestGraph.bytes(x)),
        "seed " + seed);
  }

  // ---- convolutions ----

  /** A stride of 2, and a padding of 1 in front and none behind. */
  @Test
  void paddingOfATransposedConvolutionIsAnInput() throws Exception {
    file.input("x", FLOAT, 1, 1, 3)
        .floats("w", new long[] {1, 1, 3}, 1, 10, 100)
        .integers("pads", new long[] {2}, 1, 0)
        .floats("b", new long[] {1}, 1000)
        .node(
            DOMAIN + "ConvTransposeWithDynamicPads",
            List.of("x", "w", "pads", "b"),
            "y",
            ints("strides", 2))
        .output("y", FLOAT, 1, 1, 6);
    assertNear(new double[] {1020, 1203, 1030, 1304, 1040, 1400}, TestFiles.run(file, 2, 3, 4));
  }

  // ---- probabilities of support vectors ----

  private static double[] coupled(double[][] r) {
    int k = r.length;
    double[][] q = new double[k][k];
    double[] p = new double[k];
    for (int t = 0; t < k; t++) {
      p[t] = 1.0 / k;
      for (int j = 0; j < k; j++) {
        if (j != t) {
          q[t][t] += r[j][t] * r[j][t];
          q[t][j] = -r[j][t] * r[t][j];
        }
      }
    }
    for (int round = 0; round < 100; round++) {
      double[] product = new double[k];
      double form = 0;
      for (int t = 0; t < k; t++) {
        for (int j = 0; j < k; j++) {
          product[t] += q[t][j] * p[j];
        }
        form += p[t] * product[t];
      }
      double worst = 0;
      for (int t = 0; t < k; t++) {
        worst = Math.max(worst, Math.abs(product[t] - form));
      }
      if (worst < 0.005 / k) {
        break;
      }
      for (int t = 0; t < k; t++) {
        double step = (form - product[t]) / q[t][t];
        p[t] += step;
        form = (form + step * (step * q[t][t] + 2 * product[t])) / (1 + step) / (1 + step);
        for (int j = 0; j < k; j++) {
          product[j] = (product[j] + step * q[t][j]) / (1 + step);
          p[j] /= 1 + step;
        }
      }
    }
    return p;
  }

  /** One support vector for each class, so that a pair has the difference of two products. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5})
  void pairsOfClassesGiveProbabilities(int classes) throws Exception {
    seed = classes; // a row that is as near as just allowed could have one round more
    random = new Random(seed);
    int pairs = classes * (classes - 1) / 2;
    float[] a = new float[pairs];
    float[] b = numbers(pairs);
    float[] vectors = numbers(classes * 2);
    float[] coefficients = new float[(classes - 1) * classes];
    long[] ones = new long[classes];
    long[] labels = new long[classes];
    for (int i = 0; i < classes; i++) {
      ones[i] = 1;
      labels[i] = i;
      for (int j = 0; j < classes - 1; j++) {
        coefficients[j * classes + i] = j < i ? -1 : 1;
      }
    }
    for (int i = 0; i < pairs; i++) {
      a[i] = -1 - random.nextFloat();
    }
    float[] x = numbers(6 * 2);
    file.input("x", FLOAT, 6, 2)
        .node(
            "ai.onnx.ml.SVMClassifier",
            List.of("x"),
            List.of("label", "y"),
            reals("support_vectors", vectors),
            ints("vectors_per_class", ones),
            reals("coefficients", coefficients),
            reals("rho", new float[pairs]),
            reals("prob_a", a),
            reals("prob_b", b),
            text("kernel_type", "LINEAR"),
            ints("classlabels_ints", labels))
        .output("y", FLOAT, 6, classes);
    double[] expected = new double[6 * classes];
    for (int row = 0; row < 6; row++) {
      double[] product = new double[classes];
      for (int i = 0; i < classes; i++) {
        product[i] = x[row * 2] * vectors[i * 2] + x[row * 2 + 1] * vectors[i * 2 + 1];
      }
      double[][] r = new double[classes][classes];
      int pair = 0;
      for (int i = 0; i < classes; i++) {
        for (int j = i + 1; j < classes; j++, pair++) {
          r[i][j] = 1 / (1 + Math.exp(a[pair] * (product[i] - product[j]) + b[pair]));
          r[j][i] = 1 - r[i][j];
        }
      }
      System.arraycopy(coupled(r), 0, expected, row * classes, classes);
    }
    assertNear(expected, TestFiles.run(file, x));
  }

  @Test
  void probabilitiesOfOtherPairsAreRefused() {
    file.input("x", FLOAT, 1, 1)
        .node(
            "ai.onnx.ml.SVMClassifier",
            List.of("x"),
            List.of("label", "y"),
            reals("support_vectors", 1, 2),
            ints("vectors_per_class", 1, 1),
            reals("coefficients", 1, -1),
            reals("rho", 0),
            reals("prob_a", 1, 2),
            text("kernel_type", "LINEAR"),
            ints("classlabels_ints", 0, 1))
        .output("y", FLOAT, 1, 2);
    ModelFormatException refused =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build()));
    assertTrue(refused.getMessage().contains("its probabilities do not fit"), refused.getMessage());
  }
}
