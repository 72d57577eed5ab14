// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** ConvTranspose with known weights, by its definition in double. */
class TransposedConvolutionTest {
  private static final int ROUNDS = 200;

  /**
   * A layer over two axes; one of a single axis has the first ones of length 1.
   *
   * @param pads by axis, at the begin, then at the end
   */
  private record Layer(
      boolean isSingle,
      int batches,
      int channels,
      int units,
      int[] size,
      int[] kernel,
      int[] strides,
      int[] pads,
      int[] extra) {
    static Layer random(Random random) {
      boolean isSingle = random.nextInt(3) == 0;
      int same = 1 + random.nextInt(4);
      int[] strides = {random.nextBoolean() ? same : 1 + random.nextInt(3), same};
      int[] kernel = {1 + random.nextInt(5), 1 + random.nextInt(5)};
      int[] size = {1 + random.nextInt(5), 1 + random.nextInt(5)};
      if (isSingle) {
        strides[0] = 1;
        kernel[0] = 1;
        size[0] = 1;
      }
      int[] pads = new int[4];
      int[] extra = new int[2];
      for (int i = isSingle ? 1 : 0; i < 2; i++) {
        extra[i] = random.nextInt(strides[i]);
        int most = (size[i] - 1) * strides[i] + kernel[i] - 1 + extra[i];
        pads[i] = random.nextInt(Math.min(most, kernel[i]) + 1);
        pads[i + 2] = random.nextInt(Math.min(most - pads[i], kernel[i]) + 1);
      }
      int units = 1 + random.nextInt(3);
      return new Layer(
          isSingle,
          1 + random.nextInt(2),
          1 + random.nextInt(3),
          units,
          size,
          kernel,
          strides,
          pads,
          extra);
    }

    int output(int axis) {
      return (size[axis] - 1) * strides[axis]
          + kernel[axis]
          + extra[axis]
          - pads[axis]
          - pads[axis + 2];
    }

    private int[] own(int... all) {
      return isSingle ? Arrays.copyOfRange(all, 1, all.length) : all;
    }

    private long[] shape(int first, int second, int... own) {
      return LongStream.concat(LongStream.of(first, second), Arrays.stream(own).asLongStream())
          .toArray();
    }

    Model model(float[] weights, float[] bias) throws Exception {
      int[] stated =
          isSingle ? new int[] {pads[1], pads[3]} : new int[] {pads[0], pads[1], pads[2], pads[3]};
      OnnxFileBuilder file = new OnnxFileBuilder();
      file.input("x", FLOAT, shape(batches, channels, own(size)))
          .floats("w", shape(channels, units, own(kernel)), weights)
          .floats("b", new long[] {units}, bias)
          .node(
              "ConvTranspose",
              List.of("x", "w", "b"),
              "y",
              ints("strides", longs(own(strides))),
              ints("pads", longs(stated)),
              ints("output_padding", longs(own(extra))))
          .output("y", FLOAT, shape(batches, units, own(output(0), output(1))));
      return TestFiles.read(file.build());
    }

    private static long[] longs(int[] values) {
      return Arrays.stream(values).asLongStream().toArray();
    }

    /** Each element of the value adds its filter to the results around its place. */
    float[] results(float[] x, float[] weights, float[] bias) {
      double[] sums = new double[batches * units * output(0) * output(1)];
      for (int b = 0; b < batches; b++) {
        for (int u = 0; u < units; u++) {
          Arrays.fill(sums, at(b, u, 0, 0), at(b, u, 0, 0) + output(0) * output(1), bias[u]);
          for (int c = 0; c < channels; c++) {
            for (int i = 0; i < size[0] * size[1]; i++) {
              for (int k = 0; k < kernel[0] * kernel[1]; k++) {
                int row = i / size[1] * strides[0] + k / kernel[1] - pads[0];
                int column = i % size[1] * strides[1] + k % kernel[1] - pads[1];
                if (row >= 0 && row < output(0) && column >= 0 && column < output(1)) {
                  double seen = x[(b * channels + c) * size[0] * size[1] + i];
                  double weight = weights[(c * units + u) * kernel[0] * kernel[1] + k];
                  sums[at(b, u, row, column)] += seen * weight;
                }
              }
            }
          }
        }
      }
      float[] results = new float[sums.length];
      for (int i = 0; i < sums.length; i++) {
        results[i] = (float) sums[i];
      }
      return results;
    }

    private int at(int batch, int unit, int row, int column) {
      return ((batch * units + unit) * output(0) + row) * output(1) + column;
    }
  }

  private static float[] run(Model model, float[] x) throws Exception {
    try (PreparedModel prepared = new CpuDevice("1.0.0").prepare(model, PrepareConfig.DEFAULT)) {
      byte[] bytes = TestGraph.run(prepared, model.main(), TestGraph.bytes(x)).getFirst();
      float[] results = new float[bytes.length / Float.BYTES];
      ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(results);
      return results;
    }
  }

  private static float[] floats(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextFloat() - 0.5f;
    }
    return values;
  }

  @Test
  void randomLayersHaveTheirResults() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("TransposedConvolutionTest seed " + seed);
    Random random = new Random(seed);
    for (int round = 0; round < ROUNDS; round++) {
      Layer layer = Layer.random(random);
      if (layer.output(0) < 1 || layer.output(1) < 1) {
        continue;
      }
      int seen = layer.size()[0] * layer.size()[1];
      int taps = layer.kernel()[0] * layer.kernel()[1];
      float[] x = floats(random, layer.batches() * layer.channels() * seen);
      float[] weights = floats(random, layer.channels() * layer.units() * taps);
      float[] bias = floats(random, layer.units());
      int number = round;
      assertArrayEquals(
          layer.results(x, weights, bias),
          run(layer.model(weights, bias), x),
          1e-5f,
          () -> "seed " + seed + " round " + number + " " + layer);
    }
  }

  /** A decoder's usual layer: one convolution, whose results are moved to their places. */
  @Test
  void noZerosStandBetweenWhatIsSeen() throws Exception {
    Layer layer =
        new Layer(
            false,
            1,
            2,
            3,
            new int[] {4, 4},
            new int[] {2, 2},
            new int[] {2, 2},
            new int[4],
            new int[2]);
    Model model = layer.model(floats(new Random(1), 24), new float[3]);
    assertEquals(
        List.of(
            OperationCode.TRANSPOSE,
            OperationCode.CONV_2D,
            OperationCode.DEPTH_TO_SPACE,
            OperationCode.TRANSPOSE),
        model.main().operations().stream().map(operation -> (Object) operation.type()).toList());
  }
}
