// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Known factors and sums of channels become part of the weights before them, where they may. */
class ScaledChannelsTest {
  private static final float[] X = {1, -2, 0.5f, 4, 3, -1, 2, 0.25f};
  private static final float[] WEIGHTS = {0.5f, -1.25f, 2, 0.75f};
  private static final float[] BIAS = {0.1f, -0.2f};
  private static final double[] FACTORS = {1.5, -0.5};
  private static final double[] MEANS = {0.25, 2};
  private static final double[] VARIANCES = {0.9, 4};
  private static final double[] SHIFTS = {-1, 3};
  private static final double EPSILON = 1e-5;

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  private static float[] floats(double... values) {
    float[] floats = new float[values.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) values[i];
    }
    return floats;
  }

  private static double normalized(double value, int channel) {
    return (value - MEANS[channel]) / Math.sqrt(VARIANCES[channel] + EPSILON) * FACTORS[channel]
        + SHIFTS[channel];
  }

  private static long count(Model model, OperationCode type) {
    return model.main().operations().stream()
        .map(Operation::type)
        .filter(each -> each == type)
        .count();
  }

  private void convolution(long groups, long... shape) {
    long[] two = {2};
    file.input("x", FLOAT, 1, 2, 2, 2)
        .floats("w", shape, Arrays.copyOf(WEIGHTS, (int) (shape[0] * shape[1])))
        .floats("b", two, BIAS)
        .floats("factor", two, floats(FACTORS))
        .floats("mean", two, floats(MEANS))
        .floats("variance", two, floats(VARIANCES))
        .floats("shift", two, floats(SHIFTS))
        .node("Conv", List.of("x", "w", "b"), "c", integer("group", groups))
        .node("BatchNormalization", List.of("c", "factor", "shift", "mean", "variance"), "n");
  }

  private void check(Model model, double[] expected, float... input) throws Exception {
    byte[] result = TestGraph.run(new CpuDevice("1.0.0"), model, TestGraph.bytes(input));
    assertArrayEquals(floats(expected), TestGraph.floats(result), 1e-5f);
  }

  @Test
  void aNormalizedConvolutionIsOneOperation() throws Exception {
    convolution(1, 2, 2, 1, 1);
    file.floats("factors", new long[] {2, 1, 1}, 2, 0.5f)
        .floats("one", new long[] {1}, 0.125f)
        .node("Mul", List.of("factors", "n"), "m")
        .node("Add", List.of("m", "one"), "s")
        .node("Relu", List.of("s"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(1, count(model, OperationCode.CONV_2D));
    assertEquals(0, count(model, OperationCode.MUL));
    assertEquals(0, count(model, OperationCode.ADD));
    assertEquals(0, count(model, OperationCode.RELU));
    double[] expected = new double[8];
    for (int i = 0; i < 8; i++) {
      int channel = i / 4;
      double sum =
          BIAS[channel] + WEIGHTS[2 * channel] * X[i % 4] + WEIGHTS[2 * channel + 1] * X[4 + i % 4];
      double factor = channel == 0 ? 2 : 0.5;
      expected[i] = Math.max(0, normalized(sum, channel) * factor + 0.125);
    }
    check(model, expected, X);
  }

  /** The channels of a transposed convolution are normalized before they are moved apart. */
  @ParameterizedTest
  @CsvSource({"2, 0", "3, 0", "4, 1"})
  void soIsATransposedOne(int kernel, int pad) throws Exception {
    int size = 2 + kernel - 2 * pad;
    float[] weights = new float[4 * kernel * kernel];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = WEIGHTS[i % 4] * (1 + i % 7);
    }
    long[] two = {2};
    file.input("x", FLOAT, 1, 2, 2, 2)
        .floats("w", new long[] {2, 2, kernel, kernel}, weights)
        .floats("b", two, BIAS)
        .floats("factor", two, floats(FACTORS))
        .floats("mean", two, floats(MEANS))
        .floats("variance", two, floats(VARIANCES))
        .floats("shift", two, floats(SHIFTS))
        .node(
            "ConvTranspose",
            List.of("x", "w", "b"),
            "c",
            ints("strides", 2, 2),
            ints("pads", pad, pad, pad, pad))
        .node("BatchNormalization", List.of("c", "factor", "shift", "mean", "variance"), "n")
        .node("Relu", List.of("n"), "y")
        .output("y", FLOAT, 1, 2, size, size);
    Model model = TestFiles.read(file.build());
    assertEquals(1, count(model, OperationCode.CONV_2D));
    assertEquals(1, count(model, OperationCode.DEPTH_TO_SPACE));
    for (OperationCode code : List.of(OperationCode.MUL, OperationCode.ADD, OperationCode.RELU)) {
      assertEquals(0, count(model, code), code.name());
    }
    double[] expected = new double[2 * size * size];
    for (int i = 0; i < expected.length; i++) {
      int unit = i / size / size;
      double sum = BIAS[unit];
      for (int k = 0; k < 8; k++) {
        int row = i / size % size + pad - k / 2 % 2 * 2;
        int column = i % size + pad - k % 2 * 2;
        if (row >= 0 && row < kernel && column >= 0 && column < kernel) {
          sum += X[k] * weights[((k / 4 * 2 + unit) * kernel + row) * kernel + column];
        }
      }
      expected[i] = Math.max(0, normalized(sum, unit));
    }
    check(model, expected, X);
  }

  @Test
  void soIsOneOfEachChannelAlone() throws Exception {
    convolution(2, 2, 1, 1, 1);
    file.node("Identity", List.of("n"), "y").output("y", FLOAT, 1, 2, 2, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(0, count(model, OperationCode.MUL));
    double[] expected = new double[8];
    for (int i = 0; i < 8; i++) {
      expected[i] = normalized(WEIGHTS[i / 4] * X[i] + BIAS[i / 4], i / 4);
    }
    check(model, expected, X);
  }

  /** Convolutions that are normalized have no bias, as a rule; they share the zeros of one. */
  @Test
  void soAreThoseWithoutABias() throws Exception {
    convolution(1, 2, 2, 1, 1);
    long[] shape = {2, 2, 1, 1};
    file.floats("u", shape, 0.5f, 0, 0, 0.5f)
        .floats("v", shape, 0.25f, 0, 0, 0.25f)
        .node("Conv", List.of("x", "u"), "p")
        .node("BatchNormalization", List.of("p", "factor", "shift", "mean", "variance"), "q")
        .node("Conv", List.of("q", "v"), "r")
        .node("BatchNormalization", List.of("r", "factor", "shift", "mean", "variance"), "y")
        .output("y", FLOAT, 1, 2, 2, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(2, count(model, OperationCode.CONV_2D));
    assertEquals(0, count(model, OperationCode.MUL) + count(model, OperationCode.ADD));
    double[] expected = new double[8];
    for (int i = 0; i < 8; i++) {
      expected[i] = normalized(normalized(X[i] * 0.5, i / 4) * 0.25, i / 4);
    }
    check(model, expected, X);
  }

  /** What is read before it is normalized, and whole weights, stay as they are. */
  @Test
  void whatElseIsReadStays() throws Exception {
    convolution(1, 2, 2, 1, 1);
    file.output("c", FLOAT, 1, 2, 2, 2).output("n", FLOAT, 1, 2, 2, 2);
    assertEquals(1, count(TestFiles.read(file.build()), OperationCode.MUL));
  }

  @Test
  void wholeWeightsStay() throws Exception {
    file.input("x", FLOAT, 1, 2)
        .floats("w", new long[] {2, 2}, 3, -1, 2, 7)
        .floats("scale", new long[] {2}, 0.1f, 0.3f)
        .node("MatMul", List.of("x", "w"), "p")
        .node("Mul", List.of("p", "scale"), "y")
        .output("y", FLOAT, 1, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(1, count(model, OperationCode.MUL));
    check(model, new double[] {0.1f * 7.0, 0.3f * 13.0}, 1, 2);
  }

  /** A sum that is not one for each channel is no bias. */
  @Test
  void sumsOfOtherShapesStay() throws Exception {
    file.input("x", FLOAT, 2, 2)
        .floats("w", new long[] {2, 2}, 0.5f, -1, 2, 0.25f)
        .floats("rows", new long[] {2, 1}, 10, 20)
        .node("MatMul", List.of("x", "w"), "p")
        .node("Add", List.of("p", "rows"), "y")
        .output("y", FLOAT, 2, 2);
    Model model = TestFiles.read(file.build());
    assertEquals(1, count(model, OperationCode.ADD));
    check(model, new double[] {14.5, 9.5, 20.5, 19}, 1, 2, 1, 0);
  }

  /** As exporters wrote it before there was HardSwish. */
  @ParameterizedTest
  @CsvSource({"Mul, Div, 6", "Div, Mul, 6", "Mul, Mul, 0.16666667", "Mul, Div, 5"})
  void hardSwishIsOneOperation(String first, String second, float divisor) throws Exception {
    boolean isLast = first.equals("Mul");
    file.input("x", FLOAT, 1, 8)
        .floats("three", new long[0], 3)
        .floats("zero", new long[0], 0)
        .floats("six", new long[0], 6)
        .floats("divisor", new long[0], divisor)
        .node("Add", List.of("three", "x"), "a")
        .node("Clip", List.of("a", "zero", "six"), "r")
        .node(first, isLast ? List.of("x", "r") : List.of("r", "divisor"), "m")
        .node(second, isLast ? List.of("m", "divisor") : List.of("x", "m"), "y")
        .output("y", FLOAT, 1, 8);
    Model model = TestFiles.read(file.build());
    boolean isHardSwish = divisor != 5;
    assertEquals(isHardSwish ? 1 : 3, model.main().operations().size());
    assertEquals(isHardSwish ? 1 : 0, count(model, OperationCode.HARD_SWISH));
    double[] expected = new double[X.length];
    for (int i = 0; i < expected.length; i++) {
      double product = X[i] * Math.clamp(X[i] + 3.0, 0, 6);
      expected[i] = second.equals("Mul") && isLast ? product * divisor : product / divisor;
    }
    check(model, expected, X);
  }

  @Test
  void otherBoundsStay() throws Exception {
    file.input("x", FLOAT, 1, 8)
        .floats("least", new long[0], -1)
        .floats("most", new long[0], 2)
        .node("Clip", List.of("x", "least", "most"), "y")
        .output("y", FLOAT, 1, 8);
    double[] expected = new double[X.length];
    for (int i = 0; i < expected.length; i++) {
      expected[i] = Math.clamp((double) X[i], -1, 2);
    }
    check(TestFiles.read(file.build()), expected, X);
  }
}
