// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Convolutions of awkward sizes: floats against the formula in double, 8-bit integers against the
 * reference bit for bit.
 */
@Widths
class ConvolutionTest {
  private static final int[] CHANNELS = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 65};
  private static final int[] SIZES = {1, 2, 3, 5, 7, 12};

  private final Twins simd = new Twins();
  private final CpuDevice cpu = new CpuDevice("1.0.0");

  /** One convolution. */
  private record Case(
      boolean depthwise,
      int batch,
      int height,
      int width,
      int channels,
      int outputs,
      int filterHeight,
      int filterWidth,
      int strideHeight,
      int strideWidth,
      int dilationHeight,
      int dilationWidth,
      int left,
      int right,
      int top,
      int bottom,
      int activation) {
    static Case random(Random random, boolean depthwise) {
      while (true) {
        int channels = pick(random, CHANNELS);
        int outputs = depthwise ? channels * pick(random, 1, 1, 1, 2, 3) : pick(random, CHANNELS);
        Case one =
            new Case(
                depthwise,
                pick(random, 1, 1, 2, 3),
                pick(random, SIZES),
                pick(random, SIZES),
                channels,
                outputs,
                pick(random, 1, 2, 3, 3, 5, 7),
                pick(random, 1, 2, 3, 3, 5, 7),
                pick(random, 1, 1, 2, 3),
                pick(random, 1, 1, 2, 3),
                pick(random, 1, 1, 1, 2),
                pick(random, 1, 1, 1, 3),
                random.nextInt(3),
                random.nextInt(3),
                random.nextInt(3),
                random.nextInt(3),
                pick(random, 0, 1, 3));
        if (one.outputHeight() > 0 && random.nextInt(6) == 0) {
          return one.column();
        }
        if (one.outputHeight() > 0 && one.outputWidth() > 0) {
          return one.filterHeight == 1 && one.filterWidth == 1 && random.nextBoolean()
              ? one.pointwise()
              : one;
        }
      }
    }

    /** The same over a column, which may have padding behind it. */
    private Case column() {
      return new Case(
          depthwise,
          batch,
          height,
          1,
          channels,
          outputs,
          filterHeight,
          1,
          strideHeight,
          strideWidth,
          dilationHeight,
          dilationWidth,
          0,
          right,
          top,
          bottom,
          activation);
    }

    private Case pointwise() {
      return new Case(
          depthwise,
          batch,
          height,
          width,
          channels,
          outputs,
          1,
          1,
          1,
          1,
          1,
          1,
          0,
          0,
          0,
          0,
          activation);
    }

    int outputHeight() {
      int room = height + top + bottom - (filterHeight - 1) * dilationHeight - 1;
      return room < 0 ? 0 : room / strideHeight + 1;
    }

    int outputWidth() {
      int room = width + left + right - (filterWidth - 1) * dilationWidth - 1;
      return room < 0 ? 0 : room / strideWidth + 1;
    }

    int inputSize() {
      return batch * height * width * channels;
    }

    int filterSize() {
      return filterHeight * filterWidth * outputs * (depthwise ? 1 : channels);
    }

    int outputSize() {
      return batch * outputHeight() * outputWidth() * outputs;
    }

    int[] filterShape() {
      return depthwise
          ? new int[] {1, filterHeight, filterWidth, outputs}
          : new int[] {outputs, filterHeight, filterWidth, channels};
    }

    OperationCode code() {
      return depthwise ? OperationCode.DEPTHWISE_CONV_2D : OperationCode.CONV_2D;
    }

    void add(TestGraph graph, OperationType type, int input, int filter, int bias, int output) {
      List<Integer> arguments = new ArrayList<>(List.of(input, filter, bias));
      for (int value : new int[] {left, right, top, bottom, strideWidth, strideHeight}) {
        arguments.add(graph.int32(value));
      }
      if (depthwise) {
        arguments.add(graph.int32(outputs / channels));
      }
      arguments.add(graph.int32(activation));
      arguments.add(graph.bool(false));
      arguments.add(graph.int32(dilationWidth));
      arguments.add(graph.int32(dilationHeight));
      graph.operation(type, arguments, output);
    }

    /** The sum for one output, and the sum of the magnitudes of its terms. */
    double[] sum(float[] input, float[] filter, float[] bias, int element) {
      int channel = element % outputs;
      int x = element / outputs % outputWidth();
      int y = element / outputs / outputWidth() % outputHeight();
      int b = element / outputs / outputWidth() / outputHeight();
      double sum = bias[channel];
      double magnitude = Math.abs(sum);
      for (int fy = 0; fy < filterHeight; fy++) {
        for (int fx = 0; fx < filterWidth; fx++) {
          int iy = y * strideHeight - top + fy * dilationHeight;
          int ix = x * strideWidth - left + fx * dilationWidth;
          if (iy < 0 || iy >= height || ix < 0 || ix >= width) {
            continue;
          }
          int pixel = ((b * height + iy) * width + ix) * channels;
          if (depthwise) {
            double term =
                (double) input[pixel + channel / (outputs / channels)]
                    * filter[(fy * filterWidth + fx) * outputs + channel];
            sum += term;
            magnitude += Math.abs(term);
          } else {
            for (int c = 0; c < channels; c++) {
              double term =
                  (double) input[pixel + c]
                      * filter[((channel * filterHeight + fy) * filterWidth + fx) * channels + c];
              sum += term;
              magnitude += Math.abs(term);
            }
          }
        }
      }
      return new double[] {sum, magnitude};
    }
  }

  private static int pick(Random random, int... values) {
    return values[random.nextInt(values.length)];
  }

  private static float[] floats(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextFloat() * 4 - 2;
    }
    return values;
  }

  private static byte[] bytes(Random random, int count) {
    byte[] values = new byte[count];
    random.nextBytes(values);
    return values;
  }

  private static int[] bias(Random random, int count) {
    int[] values = new int[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextInt(40_000) - 20_000;
    }
    return values;
  }

  @Test
  void floatsFollowTheFormula() throws DeviceException {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("ConvolutionTest.floatsFollowTheFormula seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 300; i++) {
      checkFloat(Case.random(random, random.nextInt(3) == 0), random);
    }
  }

  private void checkFloat(Case one, Random random) throws DeviceException {
    float[] input = floats(random, one.inputSize());
    float[] filter = floats(random, one.filterSize());
    float[] bias = floats(random, one.outputs());
    try (TestGraph graph = new TestGraph()) {
      one.add(
          graph,
          one.code(),
          graph.input(
              TENSOR_FLOAT32,
              Quantization.NONE,
              one.batch(),
              one.height(),
              one.width(),
              one.channels()),
          graph.constant(
              TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(filter), one.filterShape()),
          graph.constant(TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(bias), one.outputs()),
          graph.output(
              TENSOR_FLOAT32,
              Quantization.NONE,
              one.batch(),
              one.outputHeight(),
              one.outputWidth(),
              one.outputs()));
      float[] actual =
          TestGraph.floats(simd.run(graph.model(), one.toString(), TestGraph.bytes(input)));
      assertEquals(one.outputSize(), actual.length);
      for (int i = 0; i < actual.length; i++) {
        double[] sum = one.sum(input, filter, bias, i);
        double wanted = sum[0];
        if (one.activation() != 0) {
          wanted = Math.max(0, wanted);
        }
        if (one.activation() == 3) {
          wanted = Math.min(6, wanted);
        }
        int element = i;
        assertEquals(wanted, actual[i], 1e-6 * sum[1], () -> one + " element " + element);
      }
    }
  }

  @Test
  void unsignedIntegersEqualTheReference() throws DeviceException {
    checkQuantized("unsigned", TENSOR_QUANT8_ASYMM, false);
  }

  @Test
  void signedIntegersEqualTheReference() throws DeviceException {
    checkQuantized("signed", TENSOR_QUANT8_ASYMM_SIGNED, false);
  }

  @Test
  void perChannelFiltersEqualTheReference() throws DeviceException {
    checkQuantized("per channel", TENSOR_QUANT8_ASYMM_SIGNED, true);
    checkQuantized("per channel", TENSOR_QUANT8_ASYMM, true);
  }

  private void checkQuantized(String name, OperandCode type, boolean perChannel)
      throws DeviceException {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("ConvolutionTest " + name + " seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 150; i++) {
      checkQuantized(Case.random(random, random.nextInt(3) == 0), type, perChannel, random);
    }
  }

  /** A scale of the output that lets results fill their range, or a little more. */
  private static float outputScale(Random random, Case one, float scale) {
    int terms = one.filterSize() / one.outputs();
    return (float) (scale * 70 * 70 * Math.sqrt(terms) / 60 * (0.3 + random.nextDouble()));
  }

  /** Channels that are dead, with a scale next to 0 and a huge bias, or of a factor above 1. */
  private static void damage(float[] scales, int[] bias, Random random) {
    for (int i = 0; i < scales.length; i++) {
      int kind = random.nextInt(10);
      if (kind == 0) {
        scales[i] *= 1e-10f;
        bias[i] = (random.nextBoolean() ? 1 : -1) * (1 << 30) + random.nextInt(1000);
      } else if (kind == 1) {
        scales[i] *= 2000;
      }
    }
  }

  private void checkQuantized(Case one, OperandCode type, boolean perChannel, Random random)
      throws DeviceException {
    int lowest = type == TENSOR_QUANT8_ASYMM ? 0 : -128;
    float inputScale = 0.01f + random.nextFloat();
    float filterScale = 0.001f + random.nextFloat() / 10;
    float[] scales = new float[one.outputs()];
    for (int i = 0; i < scales.length; i++) {
      scales[i] = filterScale * (0.2f + random.nextFloat());
    }
    int[] bias = bias(random, one.outputs());
    if (perChannel) {
      damage(scales, bias, random);
    }
    Quantization filterQuantization =
        perChannel
            ? new Quantization.PerChannel(one.depthwise() ? 3 : 0, scales)
            : Quantization.of(filterScale, lowest + random.nextInt(256));
    Quantization biasQuantization =
        perChannel ? Quantization.NONE : Quantization.of(inputScale * filterScale, 0);
    byte[] input = bytes(random, one.inputSize());
    byte[] filter = bytes(random, one.filterSize());
    try (TestGraph graph = new TestGraph()) {
      one.add(
          graph,
          TestGraph.anyRounding(random, one.code()),
          graph.input(
              type,
              Quantization.of(inputScale, lowest + random.nextInt(256)),
              one.batch(),
              one.height(),
              one.width(),
              one.channels()),
          graph.constant(
              perChannel ? TENSOR_QUANT8_SYMM_PER_CHANNEL : type,
              filterQuantization,
              filter,
              one.filterShape()),
          graph.constant(TENSOR_INT32, biasQuantization, TestGraph.bytes(bias), one.outputs()),
          graph.output(
              type,
              Quantization.of(
                  outputScale(random, one, inputScale * filterScale), lowest + random.nextInt(256)),
              one.batch(),
              one.outputHeight(),
              one.outputWidth(),
              one.outputs()));
      byte[] expected = TestGraph.run(cpu, graph.model(), input);
      TestGraph.assertSame(
          expected, simd.run(graph.model(), one.toString(), input), one.toString());
    }
  }
}
