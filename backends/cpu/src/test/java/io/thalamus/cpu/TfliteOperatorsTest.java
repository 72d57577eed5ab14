// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.CumsumOptions;
import org.tensorflow.lite.schema.GatherOptions;
import org.tensorflow.lite.schema.OneHotOptions;
import org.tensorflow.lite.schema.TensorType;

/** TensorFlow Lite's operators that NNAPI has no operation for, against their definitions. */
class TfliteOperatorsTest {
  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);

  /**
   * An input of the operator.
   *
   * @param values floats or integers
   */
  private record Input(boolean isConstant, boolean isFloat, int[] shape, double[] values) {}

  private static Input ints(boolean isConstant, int[] shape, int... values) {
    return new Input(isConstant, false, shape, Arrays.stream(values).asDoubleStream().toArray());
  }

  private static Input floats(int[] shape, double... values) {
    return new Input(false, true, shape, values);
  }

  private Input noise(int... shape) {
    double[] values = new double[(int) Shape.of(shape).elementCount()];
    // Eighths, so that sums are exact in any order.
    Arrays.setAll(values, i -> (random.nextInt(33) - 16) / 8.0);
    return floats(shape, values);
  }

  private float[] run(
      int code,
      byte optionsType,
      ToIntFunction<FlatBufferBuilder> options,
      int[] result,
      Input... inputs)
      throws Exception {
    OperatorFile file = new OperatorFile();
    int[] tensors = new int[inputs.length];
    for (int i = 0; i < inputs.length; i++) {
      byte type = inputs[i].isFloat() ? TensorType.FLOAT32 : TensorType.INT32;
      tensors[i] =
          inputs[i].isConstant()
              ? file.constant(type, inputs[i].shape(), inputs[i].values())
              : file.input(type, inputs[i].shape(), inputs[i].values());
    }
    int output = file.result(TensorType.FLOAT32, result);
    double[] numbers =
        file.operator(code, optionsType, options, tensors, output).run(output).getFirst();
    float[] floats = new float[numbers.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) numbers[i];
    }
    return floats;
  }

  private float[] plain(int code, int[] result, Input... inputs) throws Exception {
    return run(code, BuiltinOptions.NONE, flat -> 0, result, inputs);
  }

  private void assertExact(double[] expected, float[] actual) {
    float[] rounded = new float[expected.length];
    for (int i = 0; i < rounded.length; i++) {
      rounded[i] = (float) expected[i];
    }
    assertArrayEquals(rounded, actual, "seed " + seed);
  }

  @Test
  void signOfANumber() throws Exception {
    float[] signs =
        plain(
            BuiltinOperator.SIGN,
            new int[] {2, 3},
            floats(new int[] {2, 3}, -3, 0, 1e-38, Double.POSITIVE_INFINITY, -1e-38, Double.NaN));
    assertExact(new double[] {-1, 0, 1, 1, -1, Double.NaN}, signs);
  }

  @ParameterizedTest
  @CsvSource({"false, false", "false, true", "true, false", "true, true"})
  void runningSums(boolean exclusive, boolean reverse) throws Exception {
    Input x = noise(2, 5, 3);
    for (int axis = -1; axis < 3; axis++) {
      int along = axis < 0 ? 2 : axis;
      int inner = along == 0 ? 15 : along == 1 ? 3 : 1;
      int size = x.shape()[along];
      double[] expected = new double[30];
      for (int i = 0; i < 30; i++) {
        int place = i / inner % size;
        for (int other = 0; other < size; other++) {
          boolean isIn = reverse ? other > place : other < place;
          if (isIn || !exclusive && other == place) {
            expected[i] += x.values()[i + (other - place) * inner];
          }
        }
      }
      float[] sums =
          run(
              BuiltinOperator.CUMSUM,
              BuiltinOptions.CumsumOptions,
              flat -> CumsumOptions.createCumsumOptions(flat, exclusive, reverse),
              x.shape(),
              x,
              ints(true, new int[] {}, axis));
      assertExact(expected, sums);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 1, 2})
  void oneHotAlongAnyAxis(int axis) throws Exception {
    Input indices = ints(false, new int[] {2, 3}, 0, 3, 1, 2, -1, 9);
    int at = axis < 0 ? 2 : axis;
    int[] shape =
        at == 0 ? new int[] {4, 2, 3} : at == 1 ? new int[] {2, 4, 3} : new int[] {2, 3, 4};
    double[] expected = new double[24];
    for (int i = 0; i < 24; i++) {
      int[] place = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
      int first = place[at == 0 ? 1 : 0];
      int second = place[at == 2 ? 1 : 2];
      expected[i] = indices.values()[3 * first + second] == place[at] ? 5 : -1;
    }
    float[] spread =
        run(
            BuiltinOperator.ONE_HOT,
            BuiltinOptions.OneHotOptions,
            flat -> OneHotOptions.createOneHotOptions(flat, axis),
            shape,
            indices,
            ints(true, new int[] {}, 4),
            new Input(true, true, new int[] {}, new double[] {5}),
            new Input(true, true, new int[] {}, new double[] {-1}));
    assertExact(expected, spread);
  }

  /** {@code y[b, m, i, r] = x[b, m, indices[b, i], r]}. */
  @ParameterizedTest
  @CsvSource({"1, 1", "2, 1", "3, 1", "2, 2", "-1, 1"})
  void gatherWithBatches(int axis, int batches) throws Exception {
    Input x = noise(2, 3, 4, 5);
    int along = axis < 0 ? 3 : axis;
    int size = x.shape()[along];
    int[] indexShape = batches == 1 ? new int[] {2, 2, 2} : new int[] {2, 3, 4};
    int indexed = 4;
    int[] picks = new int[batches == 1 ? 8 : 24];
    Arrays.setAll(picks, i -> random.nextInt(size));
    int batch = batches == 1 ? 2 : 6;
    int rest = 1;
    for (int i = along + 1; i < 4; i++) {
      rest *= x.shape()[i];
    }
    int between = 120 / batch / size / rest;
    double[] expected = new double[batch * between * indexed * rest];
    int next = 0;
    for (int b = 0; b < batch; b++) {
      for (int m = 0; m < between; m++) {
        for (int i = 0; i < indexed; i++) {
          for (int r = 0; r < rest; r++) {
            int row = (b * between + m) * size + picks[b * indexed + i];
            expected[next++] = x.values()[row * rest + r];
          }
        }
      }
    }
    List<Integer> shape = new ArrayList<>();
    Arrays.stream(x.shape()).limit(along).forEach(shape::add);
    Arrays.stream(indexShape).skip(batches).forEach(shape::add);
    Arrays.stream(x.shape()).skip(along + 1).forEach(shape::add);
    float[] gathered =
        run(
            BuiltinOperator.GATHER,
            BuiltinOptions.GatherOptions,
            flat -> GatherOptions.createGatherOptions(flat, axis, batches),
            shape.stream().mapToInt(Integer::intValue).toArray(),
            x,
            ints(false, indexShape, picks));
    assertExact(expected, gathered);
  }

  /** Known and computed places, one after the other, and several at one place. */
  @ParameterizedTest
  @CsvSource({"true, false", "false, false", "true, true", "false, true"})
  void scatter(boolean isKnown, boolean isTwice) throws Exception {
    int[] places = {1, 2, 0, 0, isTwice ? 1 : 3, isTwice ? 2 : 1};
    Input updates = noise(3, 2);
    double[] expected = new double[4 * 3 * 2];
    for (int i = 0; i < 3; i++) {
      for (int k = 0; k < 2; k++) {
        expected[(places[2 * i] * 3 + places[2 * i + 1]) * 2 + k] += updates.values()[2 * i + k];
      }
    }
    float[] scattered =
        plain(
            BuiltinOperator.SCATTER_ND,
            new int[] {4, 3, 2},
            ints(isKnown, new int[] {3, 2}, places),
            updates,
            ints(true, new int[] {3}, 4, 3, 2));
    assertExact(expected, scattered);
  }

  @Test
  void sumsOfSortedSegments() throws Exception {
    Input x = noise(4, 3);
    double[] v = x.values();
    double[] expected = new double[9];
    for (int i = 0; i < 3; i++) {
      expected[i] = v[i] + v[3 + i];
      expected[6 + i] = v[6 + i] + v[9 + i];
    }
    for (boolean isKnown : new boolean[] {true, false}) {
      Input segments = ints(isKnown, new int[] {4}, 0, 0, 2, 2);
      assertExact(expected, plain(BuiltinOperator.SEGMENT_SUM, new int[] {3, 3}, x, segments));
    }
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        BuiltinOperator.UNSORTED_SEGMENT_SUM,
        BuiltinOperator.UNSORTED_SEGMENT_PROD,
        BuiltinOperator.UNSORTED_SEGMENT_MAX,
        BuiltinOperator.UNSORTED_SEGMENT_MIN
      })
  void segmentsInAnyOrder(int code) throws Exception {
    Input x = noise(2, 2, 3);
    int[] segments = {2, -1, 0, 2};
    boolean isMax = code == BuiltinOperator.UNSORTED_SEGMENT_MAX;
    boolean isMin = code == BuiltinOperator.UNSORTED_SEGMENT_MIN;
    boolean isProduct = code == BuiltinOperator.UNSORTED_SEGMENT_PROD;
    double[] expected = new double[9];
    Arrays.fill(expected, isMax ? -Float.MAX_VALUE : isMin ? Float.MAX_VALUE : isProduct ? 1 : 0);
    for (int i = 0; i < 12; i++) {
      int at = segments[i / 3] * 3 + i % 3;
      double value = x.values()[i];
      if (at >= 0) {
        expected[at] =
            isMax
                ? Math.max(expected[at], value)
                : isMin
                    ? Math.min(expected[at], value)
                    : isProduct ? expected[at] * value : expected[at] + value;
      }
    }
    float[] reduced =
        plain(
            code,
            new int[] {3, 3},
            x,
            ints(false, new int[] {2, 2}, segments),
            ints(true, new int[] {}, 3));
    for (int i = 0; i < 9; i++) {
      // A product may be a zero of either sign.
      assertEquals((float) expected[i] + 0f, reduced[i] + 0f, "seed " + seed);
    }
  }
}
