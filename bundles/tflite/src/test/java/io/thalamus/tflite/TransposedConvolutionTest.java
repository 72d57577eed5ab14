// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Subgraph;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.TransposeConvOptions;

/**
 * TRANSPOSE_CONV as a convolution of stride 1: its sums, in doubles and so exact for integers, and
 * the scales that its results have, are those of the formula. Devices compute the rest alike.
 */
class TransposedConvolutionTest {
  private static final int ROUNDS = 200;

  /** The kinds of numbers: of 8 bits with one scale, or with one for each channel. */
  private enum Kind {
    FLOAT,
    UNSIGNED,
    SIGNED,
    BY_CHANNEL
  }

  /**
   * A layer.
   *
   * @param sizes of the images, by axis
   * @param more results that the strides leave open
   */
  private record Layer(
      Kind kind,
      boolean isSame,
      boolean isRelu,
      int batches,
      int channels,
      int units,
      int[] sizes,
      int[] kernel,
      int[] strides,
      int[] more) {
    static Layer random(Random random) {
      int[] strides = {1 + random.nextInt(3), 1 + random.nextInt(3)};
      strides[0] = random.nextInt(3) > 0 ? strides[1] : strides[0];
      return new Layer(
          Kind.values()[random.nextInt(4)],
          random.nextBoolean(),
          random.nextBoolean(),
          1 + random.nextInt(2),
          1 + random.nextInt(4),
          1 + random.nextInt(4),
          new int[] {1 + random.nextInt(4), 1 + random.nextInt(4)},
          new int[] {1 + random.nextInt(5), 1 + random.nextInt(5)},
          strides,
          new int[] {random.nextInt(strides[0]), random.nextInt(strides[1])});
    }

    int output(int axis) {
      int reach = (sizes[axis] - 1) * strides[axis] + kernel[axis];
      return isSame ? sizes[axis] * strides[axis] - more[axis] : reach + more[axis];
    }

    int pad(int axis) {
      int reach = (sizes[axis] - 1) * strides[axis] + kernel[axis];
      return isSame ? Math.max(0, reach - output(axis)) / 2 : 0;
    }

    /** Each number adds its products with the filter to the results around its place. */
    double[] sums(double[] x, double[] w, double[] bias) {
      double[] sums = new double[batches * output(0) * output(1) * units];
      Arrays.setAll(sums, i -> bias[i % units]);
      for (int i = 0; i < x.length; i++) {
        int cell = i / channels;
        int image = cell / sizes[1] / sizes[0];
        for (int k = 0; k < units * kernel[0] * kernel[1]; k++) {
          int row = cell / sizes[1] % sizes[0] * strides[0] + k / kernel[1] % kernel[0] - pad(0);
          int column = cell % sizes[1] * strides[1] + k % kernel[1] - pad(1);
          int unit = k / kernel[1] / kernel[0];
          if (row >= 0 && row < output(0) && column >= 0 && column < output(1)) {
            int place = ((image * output(0) + row) * output(1) + column) * units + unit;
            sums[place] += x[i] * w[k * channels + i % channels];
          }
        }
      }
      return sums;
    }
  }

  private final Random random;
  private final long seed = Long.getLong("thalamus.seed", 1);

  TransposedConvolutionTest() {
    random = new Random(seed);
  }

  private static byte[] bytes(Kind kind, double... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (double value : values) {
      if (kind == Kind.FLOAT) {
        bytes.putFloat((float) value);
      } else {
        bytes.put((byte) value);
      }
    }
    return Arrays.copyOf(bytes.array(), bytes.position());
  }

  private double[] numbers(Kind kind, int count) {
    int least = kind == Kind.UNSIGNED ? 0 : -127;
    return random
        .doubles(count)
        .map(each -> kind == Kind.FLOAT ? (float) each - 0.5f : Math.floor(each * 255) + least)
        .toArray();
  }

  private static Model model(
      Layer layer, Quantized x, Quantized w, Quantized y, double[] weights, double[] bias)
      throws Exception {
    boolean isFloat = layer.kind() == Kind.FLOAT;
    byte type =
        isFloat
            ? TensorType.FLOAT32
            : layer.kind() == Kind.UNSIGNED ? TensorType.UINT8 : TensorType.INT8;
    int[] kernel = {layer.units(), layer.kernel()[0], layer.kernel()[1], layer.channels()};
    int[] result = {layer.batches(), layer.output(0), layer.output(1), layer.units()};
    TfliteFileBuilder file = new TfliteFileBuilder();
    int[] data = {layer.batches(), layer.sizes()[0], layer.sizes()[1], layer.channels()};
    int input = file.tensor("x", type, x, data);
    int output = file.tensor("y", type, y, result);
    byte[] sums =
        isFloat
            ? bytes(Kind.FLOAT, bias)
            : TfliteFileBuilder.intBytes(Arrays.stream(bias).mapToInt(b -> (int) b).toArray());
    file.operator(
            BuiltinOperator.TRANSPOSE_CONV,
            BuiltinOptions.TransposeConvOptions,
            flat ->
                TransposeConvOptions.createTransposeConvOptions(
                    flat,
                    layer.isSame() ? Padding.SAME : Padding.VALID,
                    layer.strides()[1],
                    layer.strides()[0],
                    layer.isRelu() ? ActivationFunctionType.RELU : ActivationFunctionType.NONE),
            new int[] {
              file.ints("shape", result),
              file.constant("w", type, w, bytes(layer.kind(), weights), kernel),
              input,
              file.constant(
                  "b", isFloat ? TensorType.FLOAT32 : TensorType.INT32, null, sums, bias.length)
            },
            output)
        .graph(new int[] {input}, output);
    return TestFiles.read(file).model();
  }

  @Test
  void randomLayersHaveTheirResults() throws Exception {
    System.out.println("TransposedConvolutionTest seed " + seed);
    int direct = 0;
    for (int round = 0; round < ROUNDS; round++) {
      Layer layer = Layer.random(random);
      direct += check(layer, "seed " + seed + " round " + round + " " + layer) ? 1 : 0;
    }
    assertTrue(direct > ROUNDS / 3, "of " + ROUNDS + " so many are convolutions: " + direct);
  }

  /** Returns true if it is a convolution. */
  private boolean check(Layer layer, String text) throws Exception {
    Kind kind = layer.kind();
    int units = layer.units();
    int size = layer.sizes()[0] * layer.sizes()[1] * layer.channels();
    double[] x = numbers(kind, layer.batches() * size);
    double[] w = numbers(kind, units * layer.kernel()[0] * layer.kernel()[1] * layer.channels());
    double[] bias = numbers(kind, units);
    int zeroX = kind == Kind.FLOAT ? 0 : kind == Kind.UNSIGNED ? 120 : -7;
    int zeroW = kind == Kind.UNSIGNED ? 131 : 0;
    int zeroY = kind == Kind.UNSIGNED ? 100 : -20;
    float[] scales = new float[kind == Kind.BY_CHANNEL ? units : 1];
    for (int i = 0; i < scales.length; i++) {
      scales[i] = 0x1p-7f * (i + 1);
    }
    boolean isFloat = kind == Kind.FLOAT;
    Model model =
        model(
            layer,
            isFloat ? null : Quantized.of(0.25f, zeroX),
            isFloat ? null : new Quantized(scales, zeros(scales.length, zeroW), 0),
            isFloat ? null : Quantized.of(0.75f, zeroY),
            w,
            bias);
    double[] data = Arrays.stream(x).map(each -> each - zeroX).toArray();
    double[] sums = layer.sums(data, Arrays.stream(w).map(each -> each - zeroW).toArray(), bias);
    Subgraph graph = model.main();
    if (graph.operations().stream()
        .anyMatch(each -> each.type() == OperationCode.TRANSPOSE_CONV_2D)) {
      return false;
    }
    double[][] found = computed(graph, data);
    assertArrayEquals(sums, found[0], isFloat ? 1e-6 : 0, text);
    double[] expected = new double[sums.length];
    Arrays.setAll(expected, i -> isFloat ? 0 : scales[i % units % scales.length]);
    assertArrayEquals(expected, found[1], text);
    return true;
  }

  /** The sums that a graph computes, and the scales of the weights of each. */
  private static double[][] computed(Subgraph graph, double[] data) {
    double[][] values = null;
    for (Operation operation : graph.operations()) {
      int[] from = shape(graph, operation.inputs().getFirst());
      int[] to = shape(graph, operation.outputs().getFirst());
      if (operation.type() == OperationCode.CONV_2D) {
        values = convolved(graph, operation, data, from, to);
      } else if (operation.type() != OperationCode.RESHAPE) {
        boolean isSlice = operation.type() == OperationCode.SLICE;
        double[] numbers = numbers(graph, operation.inputs().get(1));
        int block = isSlice ? 1 : (int) numbers[0];
        int[] begin = isSlice ? new int[] {(int) numbers[1], (int) numbers[2]} : new int[2];
        double[][] moved = new double[2][to[0] * to[1] * to[2] * to[3]];
        for (int i = 0; i < moved[0].length; i++) {
          int row = i / to[3] / to[2] % to[1] + begin[0];
          int column = i / to[3] % to[2] + begin[1];
          int image = i / to[3] / to[2] / to[1];
          int channel = (row % block * block + column % block) * to[3] + i % to[3];
          int cell = (image * from[1] + row / block) * from[2] + column / block;
          moved[0][i] = values[0][cell * from[3] + channel];
          moved[1][i] = values[1][cell * from[3] + channel];
        }
        values = moved;
      }
    }
    return values;
  }

  private static double[][] convolved(
      Subgraph graph, Operation operation, double[] data, int[] from, int[] to) {
    Operand weights = graph.operands().get(operation.inputs().get(1));
    int[] kernel = weights.shape().toArray();
    double[] filter = numbers(graph, operation.inputs().get(1));
    double[] bias = numbers(graph, operation.inputs().get(2));
    int left = (int) numbers(graph, operation.inputs().get(3))[0];
    int top = (int) numbers(graph, operation.inputs().get(5))[0];
    double[][] results = new double[2][to[0] * to[1] * to[2] * to[3]];
    for (int i = 0; i < results[0].length; i++) {
      int channel = i % to[3];
      results[0][i] = bias[channel];
      results[1][i] =
          weights.quantization() instanceof PerChannel several
              ? several.scales()[channel]
              : weights.quantization().scale();
      for (int k = 0; k < kernel[1] * kernel[2] * kernel[3]; k++) {
        int row = i / to[3] / to[2] % to[1] - top + k / kernel[3] / kernel[2];
        int column = i / to[3] % to[2] - left + k / kernel[3] % kernel[2];
        if (row >= 0 && row < from[1] && column >= 0 && column < from[2]) {
          int image = i / to[3] / to[2] / to[1];
          int place = ((image * from[1] + row) * from[2] + column) * from[3] + k % kernel[3];
          double weight = filter[channel * kernel[1] * kernel[2] * kernel[3] + k];
          results[0][i] += data[place] * (weight - weights.quantization().zeroPoint());
        }
      }
    }
    return results;
  }

  private static int[] shape(Subgraph graph, int operand) {
    return graph.operands().get(operand).shape().toArray();
  }

  /** The numbers of a constant, as they are stored. */
  private static double[] numbers(Subgraph graph, int index) {
    Operand operand = graph.operands().get(index);
    MemorySegment bytes = ((Lifetime.Constant) operand.lifetime()).bytes();
    Elements elements = Elements.of(operand.type());
    double[] numbers = new double[(int) (bytes.byteSize() / elements.size())];
    Arrays.setAll(numbers, i -> elements.getDouble(bytes, i));
    return numbers;
  }

  private static long[] zeros(int count, int zero) {
    long[] zeros = new long[count];
    Arrays.fill(zeros, zero);
    return zeros;
  }
}
