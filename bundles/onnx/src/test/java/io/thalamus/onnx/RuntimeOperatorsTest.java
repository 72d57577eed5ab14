// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Operators of ONNX Runtime alone, against the formulas of its documents. */
class RuntimeOperatorsTest {
  private static final int UINT8 = 2;
  private static final int INT8 = 3;
  private static final int INT32 = 6;

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private OnnxFileBuilder node(
      String type, List<String> inputs, OnnxFileBuilder.Message... settings) {
    return file.node("com.microsoft." + type, inputs, "y", settings);
  }

  private void assertGives(double[] expected, double allowed, float... x) throws Exception {
    float[] wanted = new float[expected.length];
    for (int i = 0; i < wanted.length; i++) {
      wanted[i] = (float) expected[i];
    }
    assertArrayEquals(wanted, TestFiles.run(file, x), (float) allowed);
  }

  private static double sigmoid(double x) {
    return 1 / (1 + Math.exp(-x));
  }

  /** The integral of the bell curve by Simpson's rule. */
  private static double gelu(double x) {
    double step = x / 2000;
    double sum = 0;
    for (int i = 0; i <= 2000; i++) {
      int weight = i == 0 || i == 2000 ? 1 : i % 2 == 0 ? 2 : 4;
      sum += weight * Math.exp(-i * step * i * step / 2);
    }
    return x * (0.5 + sum * step / 3 / Math.sqrt(2 * Math.PI));
  }

  private static double tanhGelu(double x) {
    return x / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
  }

  @ParameterizedTest
  @CsvSource({"Gelu, 0", "BiasGelu, 1", "FastGelu, 0", "FastGelu, 1", "QuickGelu, 0"})
  void activations(String type, int bias) throws Exception {
    float[] x = {-2, -0.5f, 0, 1, 3};
    file.input("x", FLOAT, 5).floats("b", new long[] {5}, 1, 0.5f, 0, -3, 1);
    node(type, bias == 1 ? List.of("x", "b") : List.of("x"));
    file.output("y", FLOAT, 5);
    double[] added = {1, 0.5, 0, -3, 1};
    double[] expected = new double[5];
    for (int i = 0; i < 5; i++) {
      double sum = x[i] + bias * added[i];
      expected[i] =
          switch (type) {
            case "FastGelu" -> tanhGelu(sum);
            case "QuickGelu" -> sum * sigmoid(1.702 * sum);
            default -> gelu(sum);
          };
    }
    assertGives(expected, 1e-5, x);
  }

  /** Twice the product of the first, turned, with the second, turned. */
  @Test
  void productsOfTurnedMatrices() throws Exception {
    file.input("x", FLOAT, 2, 1, 2).floats("b", new long[] {1, 1, 1}, 3);
    node(
        "FusedMatMul",
        List.of("x", "b"),
        integer("transA", 1),
        integer("transB", 1),
        real("alpha", 2));
    file.output("y", FLOAT, 2, 2, 1);
    assertGives(new double[] {6, 12, 18, 24}, 0, 1, 2, 3, 4);
  }

  @Test
  void productsWithAnActivation() throws Exception {
    file.input("x", FLOAT, 1, 2)
        .floats("b", new long[] {2, 2}, 1, 2, 3, -4)
        .floats("c", new long[] {2}, 1, 1);
    node(
        "FusedGemm",
        List.of("x", "b", "c"),
        text("activation", "LeakyRelu"),
        real("activation_alpha", 0.5f));
    file.output("y", FLOAT, 1, 2);
    assertGives(new double[] {8, -2.5}, 1e-6, 1, 2);
  }

  /** {@code log(1 + e^3) = 3.048587}. */
  @Test
  void productsThatAreSoftlyCutOff() throws Exception {
    file.input("x", FLOAT, 1, 1).floats("b", new long[] {1, 1}, 3);
    node("FusedGemm", List.of("x", "b"), text("activation", "Softplus"));
    file.output("y", FLOAT, 1, 1);
    assertGives(new double[] {3.048587}, 1e-6, 1);
  }

  /** A window of two cells; then what is added, and what is below 0 is cut off. */
  @Test
  void convolutionsWithASumAndAnActivation() throws Exception {
    file.input("x", FLOAT, 1, 1, 1, 3)
        .floats("w", new long[] {1, 1, 1, 2}, 1, -2)
        .floats("b", new long[] {1}, 1)
        .floats("z", new long[] {1, 1, 1, 2}, 10, 2);
    node("FusedConv", List.of("x", "w", "b", "z"), text("activation", "Relu"));
    file.output("y", FLOAT, 1, 1, 1, 2);
    assertGives(new double[] {8, 0}, 0, 1, 2, 4);
  }

  /** Two pixels of two channels each; both weights stand channels first. */
  @Test
  void convolutionsOfChannelsThatComeLast() throws Exception {
    file.input("x", FLOAT, 1, 1, 3, 2)
        .floats("w", new long[] {1, 2, 1, 2}, 1, 2, 10, 20)
        .floats("b", new long[] {1}, 0.5f);
    node("NhwcConv", List.of("x", "w", "b"));
    file.output("y", FLOAT, 1, 1, 2, 1);
    assertGives(
        new double[] {1 + 2 * 3 + 10 * 2 + 20 * 4 + 0.5, 3 + 2 * 5 + 10 * 4 + 20 * 6 + 0.5},
        0,
        1,
        2,
        3,
        4,
        5,
        6);
  }

  /** Stores x in steps of a half around 100, and reads y in steps of another. */
  private void quantized(
      String type,
      double step,
      long[] shape,
      List<String> more,
      OnnxFileBuilder.Message... settings) {
    file.floats("xs", new long[0], 0.5f)
        .bytes("xz", UINT8, new long[0], 100)
        .floats("ys", new long[0], (float) step)
        .bytes("yz", UINT8, new long[0], 120)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q");
    List<String> inputs = new ArrayList<>(more);
    file.node("com.microsoft." + type, inputs, "r", settings)
        .node("DequantizeLinear", List.of("r", "ys", "yz"), "y")
        .output("y", FLOAT, shape);
  }

  private static final List<String> PLAIN = List.of("q", "xs", "xz", "ys", "yz");

  private static double rounded(double value, double step) {
    return Math.clamp(Math.rint(value / step), -120, 135) * step;
  }

  @Test
  void storedConvolutionsOfChannelsThatComeLast() throws Exception {
    file.input("x", FLOAT, 1, 1, 2, 2)
        .bytes("w", INT8, new long[] {2, 2, 1, 1}, 2, -4, 1, 8)
        .floats("ws", new long[] {2}, 0.25f, 0.5f)
        .bytes("wz", INT8, new long[] {2}, 0, 0);
    quantized(
        "QLinearConv",
        0.125,
        new long[] {1, 1, 2, 2},
        List.of("q", "xs", "xz", "w", "ws", "wz", "ys", "yz"),
        integer("channels_last", 1));
    assertGives(
        new double[] {0.5 - 1, 0.5 + 4, -2 * 0.5 + 2, 0.5 * -2 - 4 * 2}, 0.13, 1, 1, -2, -2);
  }

  @Test
  void storedValuesGoThroughFunctions() throws Exception {
    float[] x = {-3, -0.5f, 0, 2};
    file.input("x", FLOAT, 1, 4);
    quantized("QLinearSigmoid", 1.0 / 128, new long[] {1, 4}, PLAIN);
    double[] expected = new double[4];
    for (int i = 0; i < 4; i++) {
      expected[i] = rounded(sigmoid(x[i]), 1.0 / 128);
    }
    assertGives(expected, 0.008, x);
  }

  @Test
  void storedValuesBelowZeroShrink() throws Exception {
    file.input("x", FLOAT, 1, 4);
    quantized("QLinearLeakyRelu", 0.25, new long[] {1, 4}, PLAIN, real("alpha", 0.5f));
    assertGives(new double[] {-1.5, -0.25, 0, 2}, 0, -3, -0.5f, 0, 2);
  }

  @Test
  void storedValuesBecomeLikelihoods() throws Exception {
    file.input("x", FLOAT, 1, 2);
    quantized("QLinearSoftmax", 0.01, new long[] {1, 2}, PLAIN, integer("opset", 13));
    assertGives(new double[] {sigmoid(-1), sigmoid(1)}, 0.011, 1, 2);
  }

  @Test
  void meansOfStoredValues() throws Exception {
    file.input("x", FLOAT, 2, 2);
    quantized("QLinearReduceMean", 0.25, new long[] {2, 1}, PLAIN, ints("axes", 1));
    assertGives(new double[] {1.5, -3}, 0, 1, 2, -2, -4);
  }

  @ParameterizedTest
  @CsvSource({"0, 1.5 7", "1, 3.5 5"})
  void meansOfStoredPixels(int last, String expected) throws Exception {
    file.input("x", FLOAT, 1, 2, 1, 2);
    long[] shape = last == 1 ? new long[] {1, 1, 1, 2} : new long[] {1, 2, 1, 1};
    quantized("QLinearGlobalAveragePool", 0.25, shape, PLAIN, integer("channels_last", last));
    assertGives(numbers(expected), 0, 1, 2, 6, 8);
  }

  @Test
  void meansOfStoredWindows() throws Exception {
    file.input("x", FLOAT, 1, 1, 1, 3);
    quantized(
        "QLinearAveragePool", 0.25, new long[] {1, 1, 1, 2}, PLAIN, ints("kernel_shape", 1, 2));
    assertGives(new double[] {1.5, 4}, 0, 1, 2, 6);
  }

  private static double[] numbers(String text) {
    return Arrays.stream(text.split(" ")).mapToDouble(Double::parseDouble).toArray();
  }

  @Test
  void storedValuesAreChosen() throws Exception {
    file.input("x", FLOAT, 3)
        .bytes("c", 9, new long[] {3}, 1, 0, 1)
        .bytes("o", UINT8, new long[] {1}, 7)
        .floats("os", new long[0], 1)
        .bytes("oz", UINT8, new long[0], 4);
    quantized(
        "QLinearWhere",
        0.5,
        new long[] {3},
        List.of("c", "q", "xs", "xz", "o", "os", "oz", "ys", "yz"));
    assertGives(new double[] {1, 3, 4}, 0, 1, 2, 4);
  }

  /** {@code (1.5, 2) B + c}, where B has scales for its columns and c those of the sums. */
  @Test
  void storedProductsWithABias() throws Exception {
    file.input("x", FLOAT, 1, 2)
        .bytes("b", INT8, new long[] {2, 2}, 2, 4, -2, 8)
        .floats("bs", new long[] {2}, 0.5f, 0.25f)
        .bytes("bz", INT8, new long[] {2}, 0, 0)
        .bytes("c", INT32, new long[] {2}, 4, 0, 0, 0, 8, 0, 0, 0);
    quantized(
        "QGemm",
        0.25,
        new long[] {1, 2},
        List.of("q", "xs", "xz", "b", "bs", "bz", "c", "ys", "yz"));
    assertGives(new double[] {1.5 - 2 + 1, 1.5 + 4 + 1}, 0.26, 1.5f, 2);
  }

  @Test
  void integersMultipliedBecomeReal() throws Exception {
    file.input("x", FLOAT, 1, 2)
        .floats("xs", new long[0], 0.5f)
        .bytes("xz", UINT8, new long[0], 100)
        .bytes("b", UINT8, new long[] {2, 2}, 12, 14, 8, 18)
        .floats("bs", new long[] {2}, 0.5f, 0.25f)
        .bytes("bz", UINT8, new long[0], 10)
        .floats("c", new long[] {2}, 1, -1)
        .node("QuantizeLinear", List.of("x", "xs", "xz"), "q");
    node("MatMulIntegerToFloat", List.of("q", "b", "xs", "bs", "xz", "bz", "c"));
    file.output("y", FLOAT, 1, 2);
    assertGives(new double[] {1.5 - 2 + 1, 1.5 + 4 - 1}, 1e-5, 1.5f, 2);
  }

  /** 255 steps from -2 to 3.1 are of a fiftieth each, and hit all the numbers. */
  @Test
  void productsOfWhatIsStoredOnTheWay() throws Exception {
    file.input("x", FLOAT, 1, 3)
        .bytes("b", INT8, new long[] {3, 1}, 2, 4, -2)
        .floats("bs", new long[0], 0.5f);
    node("DynamicQuantizeMatMul", List.of("x", "b", "bs"));
    file.output("y", FLOAT, 1, 1);
    assertGives(new double[] {-2 + 6.2 - 1}, 1e-4, -2, 3.1f, 1);
  }

  @Test
  void normalizationByTheRootOfTheMeanSquare() throws Exception {
    file.input("x", FLOAT, 1, 2)
        .floats("skip", new long[] {1, 2}, 1, 2)
        .floats("gamma", new long[] {2}, 5, 10);
    node("SkipSimplifiedLayerNormalization", List.of("x", "skip", "gamma"));
    file.output("y", FLOAT, 1, 2);
    double root = Math.sqrt((3 * 3 + 4 * 4) / 2.0);
    assertGives(new double[] {15 / root, 40 / root}, 1e-5, 2, 2);
  }

  /**
   * The word is (1, 3), its place adds (1, 1) and its segment (0, 2): a mean of 4 and steps of 2.
   */
  @Test
  void wordsPlacesAndSegments() throws Exception {
    file.input("x", FLOAT, 2)
        .bytes("words", INT32, new long[] {1, 1}, 1, 0, 0, 0)
        .bytes("segments", INT32, new long[] {1, 1}, 1, 0, 0, 0)
        .floats("w", new long[] {2, 2}, 9, 9, 1, 3)
        .floats("p", new long[] {1, 2}, 1, 1)
        .floats("s", new long[] {2, 2}, 9, 9, 0, 2)
        .floats("g", new long[] {2}, 10, 100);
    node("EmbedLayerNormalization", List.of("words", "segments", "w", "p", "s", "g", "x"));
    file.output("y", FLOAT, 1, 1, 2);
    assertGives(new double[] {-10, 101}, 1e-3, 0, 1);
  }

  /** Two heads of two numbers, two words; each head has its own likelihoods. */
  @Test
  void attentionOfTwoHeads() throws Exception {
    double[][] q = {{1, 0, 0, 2}, {0, 1, 1, 1}};
    double[][] k = {{1, 1, 0, 1}, {0, 2, 1, 0}};
    double[][] v = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    file.input("x", FLOAT, 1, 2, 4)
        .floats("k", new long[] {1, 2, 4}, 1, 1, 0, 1, 0, 2, 1, 0)
        .floats("v", new long[] {1, 2, 4}, 1, 2, 3, 4, 5, 6, 7, 8);
    node("MultiHeadAttention", List.of("x", "k", "v"), integer("num_heads", 2));
    file.output("y", FLOAT, 1, 2, 4);
    double[] expected = new double[8];
    for (int word = 0; word < 2; word++) {
      for (int at = 0; at < 4; at++) {
        int first = at / 2 * 2;
        double[] scores = new double[2];
        for (int other = 0; other < 2; other++) {
          double product =
              q[word][first] * k[other][first] + q[word][first + 1] * k[other][first + 1];
          scores[other] = Math.exp(product / Math.sqrt(2));
        }
        expected[4 * word + at] =
            (scores[0] * v[0][at] + scores[1] * v[1][at]) / (scores[0] + scores[1]);
      }
    }
    assertGives(expected, 1e-5, 1, 0, 0, 2, 0, 1, 1, 1);
  }

  /** The pairs of halves are turned by the angle of the second place. */
  @ParameterizedTest
  @CsvSource({"0", "1"})
  void pairsAreTurnedByTheirPlace(int isMixed) throws Exception {
    float cos = 0.6f;
    float sin = 0.8f;
    file.input("x", FLOAT, 1, 1, 1, 4)
        .integers("at", new long[] {1}, 1)
        .floats("cos", new long[] {2, 2}, 1, 1, cos, 0)
        .floats("sin", new long[] {2, 2}, 0, 0, sin, 1);
    node("RotaryEmbedding", List.of("x", "at", "cos", "sin"), integer("interleaved", isMixed));
    file.output("y", FLOAT, 1, 1, 1, 4);
    double[] expected =
        isMixed == 1
            ? new double[] {cos - 2 * sin, 2 * cos + sin, -4, 3}
            : new double[] {cos - 3 * sin, -4, 3 * cos + sin, 2};
    assertGives(expected, 1e-6, 1, 2, 3, 4);
  }

  /** A layer of one unit, whose weights are whole steps of a scale. */
  private void storedMemories(int steps, int batch, float scale, int[] weights, int[] recurrent) {
    file.input("x", FLOAT, steps, batch, 1)
        .bytes("w", INT8, new long[] {1, 1, 4}, weights)
        .bytes("r", INT8, new long[] {1, 1, 4}, recurrent)
        .floats("ws", new long[] {1}, scale)
        .bytes("z", INT8, new long[] {1}, 0);
    node(
        "DynamicQuantizeLSTM",
        List.of("x", "w", "r", "", "", "", "", "", "ws", "z", "ws", "z"),
        integer("hidden_size", 1));
    file.output("y", FLOAT, steps, 1, batch, 1);
  }

  /** Weights of steps of a half; one unit, one step: {@code h = o tanh(i g)} from no memory. */
  @Test
  void memoriesWithStoredWeights() throws Exception {
    storedMemories(1, 1, 0.5f, new int[] {1, 2, 3, 4}, new int[] {1, 1, 1, 1});
    double x = 1;
    double cell = sigmoid(0.5 * x) * Math.tanh(2 * x);
    assertGives(new double[] {sigmoid(x) * Math.tanh(cell)}, 1e-5, 1);
  }

  /**
   * Inputs of all steps are rounded together, and the states of both sequences at each step: beside
   * a computation in double precision.
   */
  @Test
  void inputsAndStatesOfMemoriesAreRounded() throws Exception {
    float[] input = {0.9f, -0.35f, 0.1f, 0.75f, -0.2f, 0.4f};
    int[] weights = {90, -70, 50, 110};
    int[] again = {-60, 80, 120, 40};
    storedMemories(3, 2, 0.02f, weights, again);
    double[] x = spanned(input);
    double[] h = new double[2];
    double[] c = new double[2];
    double[] expected = new double[6];
    for (int step = 0; step < 3; step++) {
      double[] before = spanned((float) h[0], (float) h[1]);
      for (int i = 0; i < 2; i++) {
        double[] sums = new double[4];
        for (int gate = 0; gate < 4; gate++) {
          sums[gate] = 0.02 * (weights[gate] * x[2 * step + i] + again[gate] * before[i]);
        }
        c[i] = sigmoid(sums[2]) * c[i] + sigmoid(sums[0]) * Math.tanh(sums[3]);
        h[i] = sigmoid(sums[1]) * Math.tanh(c[i]);
        expected[2 * step + i] = h[i];
      }
    }
    assertGives(expected, 1e-5, input);
  }

  /** Numbers on the grid of 256 steps that spans them and 0. */
  private static double[] spanned(float... values) {
    float least = 0;
    float most = 0;
    for (float value : values) {
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    float scale = most == least ? 1 : (most - least) / 255;
    double zero = Math.rint(-least / scale);
    double[] rounded = new double[values.length];
    for (int i = 0; i < values.length; i++) {
      rounded[i] = (Math.clamp(Math.rint(values[i] / scale) + zero, 0, 255) - zero) * scale;
    }
    return rounded;
  }

  /** Each of 2 keys says 3 times its query's number; the second is hidden from the first query. */
  @Test
  void attentionOfStoredIntegers() throws Exception {
    file.input("x", FLOAT, 1, 2, 1)
        .floats("scale", new long[0], 0.5f)
        .bytes("zero", UINT8, new long[0], 10)
        .node("QuantizeLinear", List.of("x", "scale", "zero"), "q")
        .bytes("w", INT8, new long[] {1, 3}, 0, 5, 7)
        .floats("b", new long[] {3}, 0, 0, 1)
        .floats("unit", new long[0], 2)
        .bytes("point", INT8, new long[0], 1)
        .integers("none", new long[0], 0);
    node(
        "QAttention",
        List.of("q", "w", "b", "scale", "unit", "", "zero", "point"),
        integer("num_heads", 1),
        integer("unidirectional", 1));
    file.output("y", FLOAT, 1, 2, 1);
    // values are 12 x + 1, keys 8 x, queries -2 x
    double first = Math.exp(-2 * 2.0 * 8 * 1.0);
    double second = Math.exp(-2 * 2.0 * 8 * 2.0);
    double mean = (first * 13 + second * 25) / (first + second);
    assertGives(new double[] {13, mean}, 1e-4, 1, 2);
  }

  /** Of 2 stacks of 2x1 that stand in rows: the rows are the first axis, the stacks the second. */
  @Test
  void stacksThatAreSwappedWithRows() throws Exception {
    file.input("x", FLOAT, 2, 2, 1).floats("w", new long[] {2, 1, 1}, 10, 100);
    node("FusedMatMul", List.of("x", "w"), integer("transBatchA", 1));
    file.output("y", FLOAT, 2, 2, 1);
    assertGives(new double[] {10, 30, 200, 400}, 0, 1, 2, 3, 4);
  }

  @ParameterizedTest
  @CsvSource({"euclidean, 5, 13", "sqeuclidean, 25, 169"})
  void distancesOfPoints(String metric, double first, double second) throws Exception {
    file.input("x", FLOAT, 1, 2).floats("z", new long[] {2, 2}, 4, 6, 6, 14);
    node("CDist", List.of("x", "z"), text("metric", metric));
    file.output("y", FLOAT, 1, 2);
    assertGives(new double[] {first, second}, 1e-4, 1, 2);
  }

  /** Rows 0 and 2 are of the second block, the others of the first. */
  @Test
  void rowsSayWhatBlockTheyAreOf() throws Exception {
    int[] packed = new int[16];
    Arrays.fill(packed, 0x99);
    long[] blocks = new long[32];
    blocks[0] = 1;
    blocks[2] = 1;
    file.input("x", FLOAT, 1, 32)
        .bytes("w", UINT8, new long[] {1, 2, 8}, packed)
        .floats("scales", new long[] {2}, 1, 10)
        .integers("blocks", new long[] {32}, blocks);
    node(
        "MatMulNBits",
        List.of("x", "w", "scales", "", "blocks"),
        integer("K", 32),
        integer("N", 1),
        integer("block_size", 16));
    file.output("y", FLOAT, 1, 1);
    float[] x = new float[32];
    x[0] = 1;
    x[1] = 2;
    x[2] = 3;
    assertGives(new double[] {10 + 2 + 30}, 1e-5, x);
  }

  @Test
  void youngerOperatorsUnderTheirOldNames() throws Exception {
    file.input("x", FLOAT, 2, 2).integers("axis", new long[0], 1);
    file.node("com.microsoft.Trilu", List.of("x"), "low", integer("upper", 0));
    node("ExpandDims", List.of("low", "axis"));
    file.output("y", FLOAT, 2, 1, 2);
    assertGives(new double[] {1, 0, 3, 4}, 0, 1, 2, 3, 4);
  }
}
