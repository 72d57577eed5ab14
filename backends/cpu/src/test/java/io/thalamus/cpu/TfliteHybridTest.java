// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.thalamus.model.reader.ReadOptions;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.BatchMatMulOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.Conv2DOptions;
import org.tensorflow.lite.schema.DepthwiseConv2DOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.TransposeConvOptions;

/**
 * Layers of 8-bit weights over real numbers in TensorFlow Lite's arithmetic, against sums of
 * integers. What rounding changes is a hundred times what is allowed.
 */
class TfliteHybridTest {
  private static final int ROWS = 3;
  private static final int DEPTH = 12;
  private static final int UNITS = 4;

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private final OperatorFile file = new OperatorFile().with(ReadOptions.DEFAULT.withHybrid(true));

  /**
   * Rows of numbers, the first of which is zeros, and the second above zero. None is so near the
   * middle of two steps that floats may round it to another one than the oracle's doubles.
   */
  private double[] data() {
    double[] data = new double[ROWS * DEPTH];
    do {
      for (int i = DEPTH; i < data.length; i++) {
        data[i] = (float) (i < 2 * DEPTH ? 1 + random.nextDouble() : random.nextGaussian());
      }
    } while (hasTie(data));
    return data;
  }

  private static boolean hasTie(double[] data) {
    for (int row = 0; row < ROWS; row++) {
      for (boolean isAsymmetric : new boolean[] {false, true}) {
        Steps steps = Steps.of(data, row, isAsymmetric);
        if (isTie(steps.offset())
            || Arrays.stream(data, row * DEPTH, (row + 1) * DEPTH)
                .anyMatch(value -> isTie(value / steps.scale()))) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isTie(double value) {
    return Math.abs(Math.abs(value) % 1 - 0.5) < 1e-3;
  }

  /**
   * How a row is stored.
   *
   * @param offset the zero point before it is rounded
   */
  private record Steps(double scale, double offset) {
    static Steps of(double[] data, int row, boolean isAsymmetric) {
      double[] values = Arrays.copyOfRange(data, row * DEPTH, (row + 1) * DEPTH);
      double low = Math.min(0, Arrays.stream(values).min().orElseThrow());
      double high = Math.max(0, Arrays.stream(values).max().orElseThrow());
      double step = isAsymmetric ? (high - low) / 255 : Math.max(high, -low) / 127;
      double scale = step == 0 ? 1 : step;
      return new Steps(scale, isAsymmetric ? -128 - low / scale : 0);
    }
  }

  private byte[] weights(int count) {
    byte[] weights = new byte[count];
    random.nextBytes(weights);
    return weights;
  }

  private float[] scales(boolean isPerChannel) {
    float[] scales = new float[isPerChannel ? UNITS : 1];
    for (int i = 0; i < scales.length; i++) {
      scales[i] = 0.01f + random.nextFloat() / 100;
    }
    return scales;
  }

  /** A row in steps of a scale, which comes last. */
  private static double[] rounded(double[] data, int row, boolean isAsymmetric) {
    Steps stored = Steps.of(data, row, isAsymmetric);
    long zero = nearest(stored.offset());
    double[] steps = new double[DEPTH + 1];
    for (int i = 0; i < DEPTH; i++) {
      double value = data[row * DEPTH + i] / stored.scale();
      steps[i] = Math.clamp(nearest(zero + value), -128, 127) - zero;
    }
    steps[DEPTH] = stored.scale();
    return steps;
  }

  private static long nearest(double value) {
    return (long) Math.copySign(Math.floor(Math.abs(value) + 0.5), value);
  }

  /** Products of all rows with all units' weights. */
  private static double[] products(
      double[] data, byte[] weights, float[] scales, boolean isAsymmetric) {
    double[] products = new double[ROWS * UNITS];
    for (int i = 0; i < products.length; i++) {
      double[] steps = rounded(data, i / UNITS, isAsymmetric);
      int unit = i % UNITS;
      long sum = 0;
      for (int k = 0; k < DEPTH; k++) {
        sum += (long) steps[k] * weights[unit * DEPTH + k];
      }
      products[i] = sum * steps[DEPTH] * scales[unit % scales.length];
    }
    return products;
  }

  private void assertNear(double[] expected, int result) throws Exception {
    assertArrayEquals(expected, file.run(result).getFirst(), 1e-4, "seed " + seed);
  }

  @ParameterizedTest
  @CsvSource({"false, false", "false, true", "true, false", "true, true"})
  void denseLayerRoundsEachRow(boolean isAsymmetric, boolean isPerChannel) throws Exception {
    double[] data = data();
    byte[] weights = weights(UNITS * DEPTH);
    float[] scales = scales(isPerChannel);
    int x = file.input(TensorType.FLOAT32, new int[] {ROWS, 2, DEPTH / 2}, data);
    int w = file.stored(TensorType.INT8, scales, 0, weights, UNITS, DEPTH);
    int b = file.constant(TensorType.FLOAT32, new int[] {UNITS}, 1, 2, 3, 4);
    int y = file.result(TensorType.FLOAT32, ROWS, UNITS);
    file.operator(
        BuiltinOperator.FULLY_CONNECTED,
        BuiltinOptions.FullyConnectedOptions,
        flat ->
            FullyConnectedOptions.createFullyConnectedOptions(
                flat, (byte) 0, (byte) 0, false, isAsymmetric),
        new int[] {x, w, b},
        y);
    double[] expected = products(data, weights, scales, isAsymmetric);
    for (int i = 0; i < expected.length; i++) {
      expected[i] += i % UNITS + 1;
    }
    assertNear(expected, y);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void productOfMatricesRoundsEachRow(boolean isAsymmetric) throws Exception {
    double[] data = data();
    byte[] weights = weights(UNITS * DEPTH);
    float[] scales = scales(false);
    int x = file.input(TensorType.FLOAT32, new int[] {ROWS, DEPTH}, data);
    int w = file.stored(TensorType.INT8, scales, 0, weights, UNITS, DEPTH);
    int y = file.result(TensorType.FLOAT32, ROWS, UNITS);
    file.operator(
        BuiltinOperator.BATCH_MATMUL,
        BuiltinOptions.BatchMatMulOptions,
        flat -> BatchMatMulOptions.createBatchMatMulOptions(flat, false, true, isAsymmetric),
        new int[] {x, w},
        y);
    assertNear(products(data, weights, scales, isAsymmetric), y);
  }

  /** Images of one place, which become no larger. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void convolutionTurnedBackRoundsEachImage(boolean isPerChannel) throws Exception {
    double[] data = data();
    byte[] weights = weights(UNITS * DEPTH);
    float[] scales = scales(isPerChannel);
    int shape = file.constant(TensorType.INT32, new int[] {4}, ROWS, 1, 1, UNITS);
    int x = file.input(TensorType.FLOAT32, new int[] {ROWS, 1, 1, DEPTH}, data);
    int w = file.stored(TensorType.INT8, scales, 0, weights, UNITS, 1, 1, DEPTH);
    int y = file.result(TensorType.FLOAT32, ROWS, 1, 1, UNITS);
    file.operator(
        BuiltinOperator.TRANSPOSE_CONV,
        BuiltinOptions.TransposeConvOptions,
        flat ->
            TransposeConvOptions.createTransposeConvOptions(flat, Padding.VALID, 1, 1, (byte) 0),
        new int[] {shape, w, x},
        y);
    assertNear(products(data, weights, scales, true), y);
  }

  /** A window as large as the image. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void convolutionRoundsEachImage(boolean isPerChannel) throws Exception {
    double[] data = data();
    byte[] weights = weights(UNITS * DEPTH);
    float[] scales = scales(isPerChannel);
    int x = file.input(TensorType.FLOAT32, new int[] {ROWS, 2, 2, DEPTH / 4}, data);
    int w = file.stored(TensorType.INT8, scales, 0, weights, UNITS, 2, 2, DEPTH / 4);
    int y = file.result(TensorType.FLOAT32, ROWS, 1, 1, UNITS);
    file.operator(
        BuiltinOperator.CONV_2D,
        BuiltinOptions.Conv2DOptions,
        flat -> Conv2DOptions.createConv2DOptions(flat, Padding.VALID, 1, 1, (byte) 0, 1, 1),
        new int[] {x, w},
        y);
    assertNear(products(data, weights, scales, isPerChannel), y);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void depthwiseConvolutionRoundsEachImage(boolean isPerChannel) throws Exception {
    double[] data = data();
    int cells = DEPTH / UNITS;
    byte[] weights = weights(DEPTH);
    float[] scales = scales(isPerChannel);
    int x = file.input(TensorType.FLOAT32, new int[] {ROWS, cells, 1, UNITS}, data);
    int w = file.stored(TensorType.INT8, scales, 3, weights, 1, cells, 1, UNITS);
    int y = file.result(TensorType.FLOAT32, ROWS, 1, 1, UNITS);
    file.operator(
        BuiltinOperator.DEPTHWISE_CONV_2D,
        BuiltinOptions.DepthwiseConv2DOptions,
        flat ->
            DepthwiseConv2DOptions.createDepthwiseConv2DOptions(
                flat, Padding.VALID, 1, 1, 1, (byte) 0, 1, 1),
        new int[] {x, w},
        y);
    double[] expected = new double[ROWS * UNITS];
    for (int i = 0; i < expected.length; i++) {
      int unit = i % UNITS;
      double[] steps = rounded(data, i / UNITS, true);
      double sum = 0;
      for (int cell = 0; cell < cells; cell++) {
        sum += steps[cell * UNITS + unit] * weights[cell * UNITS + unit];
      }
      expected[i] = sum * steps[DEPTH] * scales[unit % scales.length];
    }
    assertNear(expected, y);
  }
}
