// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BatchMatMulOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.Pool2DOptions;
import org.tensorflow.lite.schema.TensorType;

/** Stored results that TensorFlow Lite rounds in another way than NNAPI's operations do. */
class TfliteRoundingTest {
  private static final float SCALE = 0.1f;

  private final OperatorFile file = new OperatorFile();

  /** The averages are -1.5, 2.5, -1.25 and -0.5 in all sizes of windows. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 50})
  void averagesBetweenTwoIntegersGoAwayFromZero(int pairs) throws Exception {
    double[] x = new double[pairs * 4 * 4];
    double[][] cells = {{-1, -2, -1, -2}, {2, 3, 2, 3}, {-1, -1, -1, -2}, {0, -1, 0, -1}};
    for (int i = 0; i < x.length; i++) {
      x[i] = cells[i % 4][i / 4 % 4];
    }
    int data = file.quantized(TensorType.INT8, SCALE, new int[] {1, 4, pairs, 4}, x);
    int result = file.quantized(TensorType.INT8, SCALE, new int[] {1, 1, 1, 4});
    file.operator(
        BuiltinOperator.AVERAGE_POOL_2D,
        BuiltinOptions.Pool2DOptions,
        flat ->
            Pool2DOptions.createPool2DOptions(
                flat, Padding.VALID, 1, 1, pairs, 4, ActivationFunctionType.NONE),
        new int[] {data},
        result);
    assertArrayEquals(new double[] {-2, 3, -1, -1}, file.run(result).getFirst());
  }

  /** The real results are 6.39, 127.8; 4.41, 127.9; 19.46, 126.5. */
  @Test
  void signedRowsAreNormalizedWithOneRounding() throws Exception {
    int data = file.quantized(TensorType.INT8, SCALE, new int[] {3, 2}, 1, 20, 1, 29, 2, 13);
    int result = file.quantized(TensorType.INT8, 1f / 128, new int[] {3, 2});
    file.operator(BuiltinOperator.L2_NORMALIZATION, new int[] {data}, result);
    assertArrayEquals(new double[] {6, 127, 4, 127, 19, 127}, file.run(result).getFirst());
  }

  /** TensorFlow Lite 2.20 gives this; the real one is 11.498. */
  @Test
  void productsOfMatricesRoundTwice() throws Exception {
    int first = file.quantized(TensorType.INT8, 0.01465868f, new int[] {1, 1}, 33);
    int second = file.quantized(TensorType.INT8, 0.012417108f, new int[] {1, 1}, 67);
    int result = file.quantized(TensorType.INT8, 0.03500055f, new int[] {1, 1});
    file.operator(
        BuiltinOperator.BATCH_MATMUL,
        BuiltinOptions.BatchMatMulOptions,
        flat -> BatchMatMulOptions.createBatchMatMulOptions(flat, false, false, false),
        new int[] {first, second},
        result);
    assertArrayEquals(new double[] {12}, file.run(result).getFirst());
  }

  /** TensorFlow Lite 2.20 gives these; the real ones of 125 and 170 are 30.454 and 41.417. */
  @ParameterizedTest
  @ValueSource(
      ints = {
        BuiltinOperator.RELU,
        BuiltinOperator.RELU6,
        BuiltinOperator.RELU_0_TO_1,
        BuiltinOperator.RELU_N1_TO_1
      })
  void activationsRoundTwiceOnTheWayToAnotherScale(int operator) throws Exception {
    int data = file.quantized(TensorType.UINT8, 1f / 256, new int[] {6}, 82, 125, 165, 170, 255, 0);
    int result = file.quantized(TensorType.UINT8, 0.01603351f, new int[] {6});
    file.operator(operator, new int[] {data}, result);
    assertArrayEquals(new double[] {20, 31, 40, 42, 62, 0}, file.run(result).getFirst());
  }

  /** The same steps; the unsigned result has none below zero. */
  @Test
  void stepsRoundTwiceOnTheWayToAnotherScale() throws Exception {
    double[] steps = {82, 125, -82, -125, 3, 0};
    int data = file.quantized(TensorType.INT8, 1f / 256, new int[] {6}, steps);
    int signed = file.quantized(TensorType.INT8, 0.01603351f, new int[] {6});
    int unsigned = file.quantized(TensorType.UINT8, 0.01603351f, new int[] {6});
    file.operator(BuiltinOperator.QUANTIZE, new int[] {data}, signed)
        .operator(BuiltinOperator.QUANTIZE, new int[] {data}, unsigned);
    List<double[]> results = file.run(signed, unsigned);
    assertArrayEquals(new double[] {20, 31, -20, -31, 1, 0}, results.get(0));
    assertArrayEquals(new double[] {20, 31, 0, 0, 1, 0}, results.get(1));
  }

  /** The logarithms of 0.8 and 1 are -0.22 and 0. */
  @Test
  void whatHasNoLogarithmHasTheLeastResult() throws Exception {
    int data = file.quantized(TensorType.INT8, 0.1f, new int[] {4}, 8, 10, 0, -5);
    int result = file.quantized(TensorType.INT8, 0.01f, new int[] {4});
    file.operator(BuiltinOperator.LOG, new int[] {data}, result);
    assertArrayEquals(new double[] {-22, 0, -128, -128}, file.run(result).getFirst());
  }

  /** A step of the data is 4.1 of the result. */
  @Test
  void activationsWithAFinerResult() throws Exception {
    int data = file.quantized(TensorType.UINT8, 0.01603351f, new int[] {4}, 5, 17, 40, 63);
    int result = file.quantized(TensorType.UINT8, 1f / 256, new int[] {4});
    file.operator(BuiltinOperator.RELU, new int[] {data}, result);
    assertArrayEquals(new double[] {21, 70, 164, 255}, file.run(result).getFirst());
  }
}
