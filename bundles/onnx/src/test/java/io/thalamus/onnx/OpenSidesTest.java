// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.real;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Layers over as many steps as an execution finds, as in networks that speak: one compiled model
 * beside loops in double.
 */
class OpenSidesTest {
  private static final int CHANNELS = 4;
  private static final int STEPS = 9;
  private static final float[][] CHOICES = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 0, 1, 1, 0, 1, 0, 1, 0}, {0, 1, 1, 0, 1, 0, 0, 0, 0}
  };

  private final Random random = new Random(17);

  private float[] numbers(int count) {
    return Gaussians.floats(random, count);
  }

  /** A file whose value {@code some} has the steps whose number is positive. */
  private static OnnxFileBuilder chosen() {
    return new OnnxFileBuilder()
        .input("x", FLOAT, 1, CHANNELS, STEPS)
        .input("keep", FLOAT, STEPS)
        .floats("zero", new long[0], 0)
        .node("Greater", List.of("keep", "zero"), "is")
        .node("Compress", List.of("x", "is"), "some", integer("axis", 2));
  }

  /** Of each channel the steps that are kept. */
  private static double[][] kept(float[] x, float... keep) {
    double[][] kept = new double[CHANNELS][STEPS];
    int count = 0;
    for (int t = 0; t < STEPS; t++) {
      for (int c = 0; keep[t] > 0 && c < CHANNELS; c++) {
        kept[c][count] = x[c * STEPS + t];
      }
      count += keep[t] > 0 ? 1 : 0;
    }
    for (int c = 0; c < CHANNELS; c++) {
      kept[c] = Arrays.copyOf(kept[c], count);
    }
    return kept;
  }

  private static float[] run(PreparedModel prepared, Model model, float[] x, float... keep)
      throws Exception {
    return TestGraph.floats(
        TestGraph.run(prepared, model.main(), TestGraph.bytes(x), TestGraph.bytes(keep))
            .getFirst());
  }

  @ParameterizedTest
  @CsvSource({"3, 1, 1, 1, 1", "3, 2, 1, 0, 1", "2, 1, 2, 2, 2", "3, 1, 1, 2, 4", "1, 1, 1, 0, 1"})
  void convolution(int kernel, int stride, int dilation, int pad, int groups) throws Exception {
    int depth = CHANNELS / groups;
    float[] w = numbers(CHANNELS * depth * kernel);
    float[] bias = numbers(CHANNELS);
    Model model =
        TestFiles.read(
            chosen()
                .floats("w", new long[] {CHANNELS, depth, kernel}, w)
                .floats("b", new long[] {CHANNELS}, bias)
                .node(
                    "Conv",
                    List.of("some", "w", "b"),
                    "y",
                    ints("strides", stride),
                    ints("dilations", dilation),
                    ints("pads", pad, pad),
                    integer("group", groups))
                .output("y", FLOAT, 1, CHANNELS, -1)
                .build());
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      for (float[] keep : CHOICES) {
        float[] x = numbers(CHANNELS * STEPS);
        double[][] data = kept(x, keep);
        int steps = data[0].length;
        int results = (steps + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
        float[] expected = new float[CHANNELS * results];
        for (int i = 0; i < expected.length; i++) {
          int unit = i / results;
          double sum = bias[unit];
          for (int c = 0; c < depth; c++) {
            for (int k = 0; k < kernel; k++) {
              int t = i % results * stride + k * dilation - pad;
              double value = t < 0 || t >= steps ? 0 : data[unit / depth * depth + c][t];
              sum += value * w[(unit * depth + c) * kernel + k];
            }
          }
          expected[i] = (float) sum;
        }
        assertArrayEquals(expected, run(prepared, model, x, keep), 1e-5f);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"4, 2, 1, 0", "2, 2, 0, 0", "3, 2, 1, 1", "3, 1, 1, 0"})
  void transposedConvolution(int kernel, int stride, int pad, int more) throws Exception {
    int units = 3;
    float[] w = numbers(CHANNELS * units * kernel);
    Model model =
        TestFiles.read(
            chosen()
                .floats("w", new long[] {CHANNELS, units, kernel}, w)
                .node(
                    "ConvTranspose",
                    List.of("some", "w"),
                    "y",
                    ints("strides", stride),
                    ints("pads", pad, pad),
                    ints("output_padding", more))
                .output("y", FLOAT, 1, units, -1)
                .build());
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      for (float[] keep : CHOICES) {
        float[] x = numbers(CHANNELS * STEPS);
        double[][] data = kept(x, keep);
        int results = (data[0].length - 1) * stride + kernel - 2 * pad + more;
        double[] sums = new double[units * results];
        for (int c = 0; c < CHANNELS; c++) {
          for (int i = 0; i < data[c].length * kernel * units; i++) {
            int t = i / units / kernel;
            int to = t * stride + i / units % kernel - pad;
            if (to >= 0 && to < results) {
              float weight = w[(c * units + i % units) * kernel + i / units % kernel];
              sums[i % units * results + to] += data[c][t] * weight;
            }
          }
        }
        float[] expected = new float[sums.length];
        for (int i = 0; i < sums.length; i++) {
          expected[i] = (float) sums[i];
        }
        assertArrayEquals(expected, run(prepared, model, x, keep), 1e-5f);
      }
    }
  }

  /** As many numbers are drawn as steps are found, which all differ. */
  @Test
  void numbersAreDrawn() throws Exception {
    Model model =
        TestFiles.read(
            chosen()
                .node("RandomNormalLike", List.of("some"), "y", real("mean", 5))
                .output("y", FLOAT, 1, CHANNELS, -1)
                .build());
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      for (float[] keep : CHOICES) {
        float[] x = numbers(CHANNELS * STEPS);
        float[] drawn = run(prepared, model, x, keep);
        assertEquals(CHANNELS * kept(x, keep)[0].length, drawn.length);
        assertEquals(drawn.length, (int) wide(drawn).distinct().count());
        assertEquals(5, wide(drawn).average().orElseThrow(), 1);
      }
    }
  }

  private static DoubleStream wide(float... drawn) {
    return IntStream.range(0, drawn.length).mapToDouble(i -> drawn[i]);
  }

  private static OnnxFileBuilder layer(OnnxFileBuilder file, String type, String data) {
    file.floats("scale", new long[] {CHANNELS}, 1, 2, 3, 4);
    return switch (type) {
      case "MaxPool", "AveragePool" ->
          file.node(
              type,
              List.of(data),
              "y",
              ints("kernel_shape", 3),
              ints("strides", 2),
              ints("pads", 1, 1));
      case "reflect", "edge", "wrap" ->
          file.integers("pads", new long[] {6}, 0, 0, 2, 0, 0, 1)
              .node("Pad", List.of(data, "pads"), "y", text("mode", type));
      case "asymmetric", "half_pixel" ->
          file.floats("scales", new long[] {3}, 1, 2, 3)
              .node(
                  "Resize",
                  List.of(data, "", "scales"),
                  "y",
                  text("coordinate_transformation_mode", type),
                  text("nearest_mode", type.equals("asymmetric") ? "floor" : "round_prefer_floor"));
      case "InstanceNormalization" -> file.node(type, List.of(data, "scale", "scale"), "y");
      case "Trilu" ->
          file.node("Transpose", List.of(data), "t", ints("perm", 0, 2, 1))
              .node("MatMul", List.of("t", data), "m")
              .node("Trilu", List.of("m"), "y", integer("upper", 0));
      default -> file.node(type, List.of(data), "y");
    };
  }

  /** Other layers compute the same as those that are read with as many steps. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "MaxPool",
        "AveragePool",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "InstanceNormalization",
        "Trilu",
        "Atan",
        "Asinh",
        "reflect",
        "edge",
        "wrap",
        "asymmetric",
        "half_pixel"
      })
  void otherLayers(String type) throws Exception {
    Model model =
        TestFiles.read(layer(chosen(), type, "some").output("y", FLOAT, 1, -1, -1).build());
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      for (float[] keep : CHOICES) {
        float[] x = numbers(CHANNELS * STEPS);
        double[][] kept = kept(x, keep);
        int steps = kept[0].length;
        float[] own = new float[CHANNELS * steps];
        for (int i = 0; i < own.length; i++) {
          own[i] = (float) kept[i / steps][i % steps];
        }
        OnnxFileBuilder file = new OnnxFileBuilder().input("x", FLOAT, 1, CHANNELS, steps);
        layer(file, type, "x").output("y", FLOAT, 1, -1, -1);
        assertArrayEquals(TestFiles.run(file, own), run(prepared, model, x, keep), 1e-5f);
      }
    }
  }
}
