// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.model.reader.ReadOptions;
import java.util.Arrays;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.AddOptions;
import org.tensorflow.lite.schema.BatchMatMulOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.DepthToSpaceOptions;
import org.tensorflow.lite.schema.DivOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.GatherOptions;
import org.tensorflow.lite.schema.ReducerOptions;
import org.tensorflow.lite.schema.SpaceToDepthOptions;
import org.tensorflow.lite.schema.SplitOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;

/**
 * TensorFlow Lite's operators on types and shapes that NNAPI's own operations do not take, beside
 * what they are defined to give, or what NNAPI's own give for the same numbers as reals.
 */
class TfliteFormsTest {
  private final OperatorFile file = new OperatorFile();

  private static double[] upTo(int count) {
    return IntStream.range(0, count).mapToDouble(i -> i).toArray();
  }

  private static double[] alternating(int count) {
    return IntStream.range(0, count).mapToDouble(i -> i * i % 3 == 1 ? 1 : 0).toArray();
  }

  private void assertGives(double[] expected, int output) throws Exception {
    assertArrayEquals(expected, file.run(output).getFirst());
  }

  // ---- arithmetic of integers ----

  /** A quotient is cut off towards zero before the activation. */
  @Test
  void integersPassThroughFusedActivations() throws Exception {
    int x = file.input(TensorType.INT32, new int[] {4}, 7, -7, 9, 30);
    int y = file.input(TensorType.INT32, new int[] {4}, 2, 2, -2, 3);
    int quotient = file.result(TensorType.INT32, 4);
    int sum = file.result(TensorType.INT32, 4);
    file.operator(
            BuiltinOperator.DIV,
            BuiltinOptions.DivOptions,
            flat -> DivOptions.createDivOptions(flat, ActivationFunctionType.RELU),
            new int[] {x, y},
            quotient)
        .operator(
            BuiltinOperator.ADD,
            BuiltinOptions.AddOptions,
            flat -> AddOptions.createAddOptions(flat, ActivationFunctionType.RELU6, false),
            new int[] {x, y},
            sum);
    var results = file.run(quotient, sum);
    assertArrayEquals(new double[] {3, 0, 0, 10}, results.get(0));
    assertArrayEquals(new double[] {6, 0, 6, 6}, results.get(1));
  }

  /** From 32 on, an exponent only matters to bases whose powers stay within 32 bits. */
  @Test
  void integersAreRaisedToComputedPowers() throws Exception {
    int x = file.input(TensorType.INT32, new int[] {7}, 2, 3, -1, -1, 0, 7, -2);
    int y = file.input(TensorType.INT32, new int[] {7}, 10, 0, 33, 40, 50, 3, 31);
    int z = file.result(TensorType.INT32, 7);
    file.operator(BuiltinOperator.POW, new int[] {x, y}, z);
    assertGives(new double[] {1024, 1, -1, 1, 0, 343, Integer.MIN_VALUE}, z);
  }

  @Test
  void meansOfIntegersAreCutOff() throws Exception {
    int x = file.input(TensorType.INT32, new int[] {2, 3}, 1, 2, 4, -1, -2, -5);
    int axes = file.constant(TensorType.INT32, new int[] {1}, 1);
    int y = file.result(TensorType.INT32, 2);
    reduce(BuiltinOperator.MEAN, new int[] {x, axes}, y);
    assertGives(new double[] {2, -2}, y);
  }

  @Test
  void aReductionAlongNothingChangesNothing() throws Exception {
    int x = file.input(TensorType.INT32, new int[] {2, 2}, 5, -6, 7, 8);
    int axes = file.constant(TensorType.INT32, new int[] {0});
    int y = file.result(TensorType.INT32, 2, 2);
    reduce(BuiltinOperator.REDUCE_MAX, new int[] {x, axes}, y);
    assertGives(new double[] {5, -6, 7, 8}, y);
  }

  private void reduce(int code, int[] inputs, int output) {
    file.operator(
        code,
        BuiltinOptions.ReducerOptions,
        flat -> ReducerOptions.createReducerOptions(flat, false),
        inputs,
        output);
  }

  /** A segment of no rows holds the number that any other would replace. */
  @ParameterizedTest
  @CsvSource({
    BuiltinOperator.UNSORTED_SEGMENT_MAX + ",-2147483648",
    BuiltinOperator.UNSORTED_SEGMENT_MIN + ",2147483647"
  })
  void segmentsOfNoIntegersHoldTheOtherEnd(int code, int none) throws Exception {
    int x = file.input(TensorType.INT32, new int[] {2}, -3, 9);
    int places = file.input(TensorType.INT32, new int[] {2}, 2, 0);
    int count = file.constant(TensorType.INT32, new int[0], 3);
    int y = file.result(TensorType.INT32, 3);
    file.operator(code, new int[] {x, places, count}, y);
    assertGives(new double[] {9, none, -3}, y);
  }

  @Test
  void integersOfEightBitsAreDividedAsSuch() throws Exception {
    int x = file.input(TensorType.INT8, new int[] {3}, -7, 7, -128);
    int y = file.input(TensorType.INT8, new int[] {3}, 2, -2, 3);
    int quotient = file.result(TensorType.INT8, 3);
    int rest = file.result(TensorType.INT8, 3);
    file.operator(BuiltinOperator.FLOOR_DIV, new int[] {x, y}, quotient)
        .operator(BuiltinOperator.FLOOR_MOD, new int[] {x, y}, rest);
    var results = file.run(quotient, rest);
    assertArrayEquals(new double[] {-4, -4, -43}, results.get(0));
    assertArrayEquals(new double[] {1, -1, 1}, results.get(1));
  }

  // ---- choices ----

  @Test
  void aVectorChoosesRows() throws Exception {
    int condition = file.input(TensorType.BOOL, new int[] {2}, 1, 0);
    int x = file.input(TensorType.FLOAT32, new int[] {2, 2}, 1, 2, 3, 4);
    int y = file.input(TensorType.FLOAT32, new int[] {2, 2}, 5, 6, 7, 8);
    int z = file.result(TensorType.FLOAT32, 2, 2);
    file.operator(BuiltinOperator.SELECT, new int[] {condition, x, y}, z);
    assertGives(new double[] {1, 2, 7, 8}, z);
  }

  /** What lies before the first is the first. */
  @ParameterizedTest
  @CsvSource({"-2,3,4", "-9,0,1", "1,1,2"})
  void aPartWithAComputedEndMayBeginFromBehind(int begin, int first, int second) throws Exception {
    int x = file.input(TensorType.FLOAT32, new int[] {5}, upTo(5));
    int from = file.constant(TensorType.INT32, new int[] {1}, begin);
    int to = file.input(TensorType.INT32, new int[] {1}, second + 1);
    int step = file.constant(TensorType.INT32, new int[] {1}, 1);
    int y = file.result(TensorType.FLOAT32, 2);
    file.operator(
        BuiltinOperator.STRIDED_SLICE,
        BuiltinOptions.StridedSliceOptions,
        flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 0, 0, 0, false),
        new int[] {x, from, to, step},
        y);
    assertGives(new double[] {first, second}, y);
  }

  @Test
  void oneIndexForEachDimensionGivesAScalar() throws Exception {
    int x = file.input(TensorType.FLOAT32, new int[] {2, 3}, upTo(6));
    int place = file.input(TensorType.INT32, new int[] {2}, 1, 1);
    int y = file.result(TensorType.FLOAT32);
    file.operator(BuiltinOperator.GATHER_ND, new int[] {x, place}, y);
    assertGives(new double[] {4}, y);
  }

  // ---- many dimensions, and few ----

  /** One of the inputs repeats a dimension in front of those of one element. */
  @Test
  void sumsOfFiveDimensionsAreBroadcast() throws Exception {
    int x = file.input(TensorType.FLOAT32, new int[] {1, 1, 2, 1, 3}, upTo(6));
    int y = file.input(TensorType.FLOAT32, new int[] {4, 1, 2, 1, 3}, upTo(24));
    int z = file.result(TensorType.FLOAT32, 4, 1, 2, 1, 3);
    file.operator(BuiltinOperator.ADD, new int[] {x, y}, z);
    assertGives(IntStream.range(0, 24).mapToDouble(i -> i + i % 6).toArray(), z);
  }

  @Test
  void sixteenBitsHaveFiveDimensions() throws Exception {
    int x = file.quantized(TensorType.INT16, 0.5f, new int[] {2, 1, 1, 1, 2}, 5, -6, 7, 8);
    int y = file.quantized(TensorType.INT16, 0.5f, new int[] {2, 1, 1, 1, 2});
    file.operator(BuiltinOperator.RELU, new int[] {x}, y);
    assertGives(new double[] {5, 0, 7, 8}, y);
  }

  @Test
  void aVectorPassesADenseLayer() throws Exception {
    int x = file.input(TensorType.FLOAT32, new int[] {2}, 3, 4);
    int weights = file.constant(TensorType.FLOAT32, new int[] {2, 2}, 1, 10, 2, 20);
    int y = file.result(TensorType.FLOAT32, 1, 2);
    file.operator(
        BuiltinOperator.FULLY_CONNECTED,
        BuiltinOptions.FullyConnectedOptions,
        flat ->
            FullyConnectedOptions.createFullyConnectedOptions(
                flat, (byte) 0, (byte) 0, false, false),
        new int[] {x, weights, OperatorFile.NONE},
        y);
    assertGives(new double[] {43, 86}, y);
  }

  /** Around a stored diagonal stand zeros, which are not what stands for 0. */
  @Test
  void storedDiagonalsStandAmongZeros() throws Exception {
    int x = file.input(TensorType.UINT8, new int[] {2}, 7, 9);
    int y = file.result(TensorType.UINT8, 2, 2);
    file.operator(BuiltinOperator.MATRIX_DIAG, new int[] {x}, y);
    assertGives(new double[] {7, 0, 0, 9}, y);
  }

  /** Without a scale for the products, stored numbers are taken as such. */
  @Test
  void productsOfStoredMatricesAreWhole() throws Exception {
    int x = file.quantized(TensorType.INT8, 0.5f, new int[] {1, 2}, 100, -128);
    int y = file.quantized(TensorType.INT8, 0.25f, new int[] {2, 2}, 127, 2, 3, -128);
    int z = file.result(TensorType.INT32, 1, 2);
    multiply(x, y, z);
    assertGives(new double[] {100 * 127 - 128 * 3, 100 * 2 + 128 * 128}, z);
  }

  /** The largest number of each row is 127, so that no other is rounded. */
  @Test
  void rowsOfFiveDimensionsMeetStoredWeights() throws Exception {
    int x = file.input(TensorType.FLOAT32, new int[] {2, 1, 1, 1, 2}, 127, 3, -127, 5);
    int y = file.stored(TensorType.INT8, 0.5f, new byte[] {2, 4}, 2, 1);
    int z = file.result(TensorType.FLOAT32, 2, 1, 1, 1, 1);
    multiply(x, y, z);
    file.with(ReadOptions.DEFAULT.withHybrid(true));
    assertGives(new double[] {133, -117}, z);
  }

  private void multiply(int x, int y, int z) {
    file.operator(
        BuiltinOperator.BATCH_MATMUL,
        BuiltinOptions.BatchMatMulOptions,
        flat -> BatchMatMulOptions.createBatchMatMulOptions(flat, false, false, false),
        new int[] {x, y},
        z);
  }

  @Test
  void storedNumbersAreSpreadToAComputedShape() throws Exception {
    int x = file.quantized(TensorType.INT8, 0.5f, new int[] {1, 2}, 7, -9);
    int shape = file.input(TensorType.INT32, new int[] {2}, 2, 2);
    int y = file.quantized(TensorType.INT8, 0.5f, new int[] {2, 2});
    file.operator(BuiltinOperator.BROADCAST_TO, new int[] {x, shape}, y);
    assertGives(new double[] {7, -9, 7, -9}, y);
  }

  @Test
  void truthsAreSixteenBits() throws Exception {
    int x = file.input(TensorType.BOOL, new int[] {2}, 1, 0);
    int y = file.result(TensorType.UINT16, 2);
    file.operator(BuiltinOperator.CAST, new int[] {x}, y);
    assertGives(new double[] {1, 0}, y);
  }

  // ---- moves ----

  /** Runs one operator on elements of a type; the others of its inputs follow the first. */
  private static double[] moved(
      byte type,
      int code,
      byte optionsType,
      ToIntFunction<FlatBufferBuilder> options,
      int[] shape,
      int[] result,
      int[]... vectors)
      throws Exception {
    OperatorFile file = new OperatorFile();
    int count = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    int[] inputs = new int[vectors.length + 1];
    inputs[0] = file.input(type, shape, type == TensorType.BOOL ? alternating(count) : upTo(count));
    for (int i = 0; i < vectors.length; i++) {
      boolean isPairs = code == BuiltinOperator.PAD || i == 1 && shape.length > 3;
      int length = vectors[i].length;
      inputs[i + 1] =
          file.constant(
              TensorType.INT32,
              isPairs ? new int[] {length / 2, 2} : new int[] {length},
              Arrays.stream(vectors[i]).asDoubleStream().toArray());
    }
    int y = file.result(type, result);
    file.operator(code, optionsType, options, inputs, y);
    return file.run(y).getFirst();
  }

  /** Only which element is whose counts, and truth values are reals of 0 and 1 here. */
  private static void assertMovesAsReals(
      byte type,
      int code,
      byte optionsType,
      ToIntFunction<FlatBufferBuilder> options,
      int[] shape,
      int[] result,
      int[]... vectors)
      throws Exception {
    double[] expected =
        moved(TensorType.FLOAT32, code, optionsType, options, shape, result, vectors);
    if (type == TensorType.BOOL) {
      int count = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
      double[] truths = alternating(count);
      expected = Arrays.stream(expected).map(i -> truths[(int) i]).toArray();
    }
    assertArrayEquals(expected, moved(type, code, optionsType, options, shape, result, vectors));
  }

  private static final int[] NHWC = {2, 4, 6, 8};

  @ParameterizedTest
  @ValueSource(bytes = {TensorType.INT32, TensorType.BOOL})
  void depthBecomesSpace(byte type) throws Exception {
    assertMovesAsReals(
        type,
        BuiltinOperator.DEPTH_TO_SPACE,
        BuiltinOptions.DepthToSpaceOptions,
        flat -> DepthToSpaceOptions.createDepthToSpaceOptions(flat, 2),
        NHWC,
        new int[] {2, 8, 12, 2});
  }

  @ParameterizedTest
  @ValueSource(bytes = {TensorType.INT32, TensorType.BOOL})
  void spaceBecomesDepth(byte type) throws Exception {
    assertMovesAsReals(
        type,
        BuiltinOperator.SPACE_TO_DEPTH,
        BuiltinOptions.SpaceToDepthOptions,
        flat -> SpaceToDepthOptions.createSpaceToDepthOptions(flat, 2),
        NHWC,
        new int[] {2, 2, 3, 32});
  }

  @Test
  void blocksOfIntegersBecomeImagesWithMargins() throws Exception {
    assertMovesAsReals(
        TensorType.INT32,
        BuiltinOperator.SPACE_TO_BATCH_ND,
        BuiltinOptions.NONE,
        flat -> 0,
        NHWC,
        new int[] {12, 3, 3, 8},
        new int[] {2, 3},
        new int[] {0, 2, 1, 2});
  }

  @Test
  void imagesOfIntegersBecomeBlocksAndAreCropped() throws Exception {
    assertMovesAsReals(
        TensorType.INT32,
        BuiltinOperator.BATCH_TO_SPACE_ND,
        BuiltinOptions.NONE,
        flat -> 0,
        new int[] {12, 3, 3, 2},
        new int[] {2, 4, 6, 2},
        new int[] {2, 3},
        new int[] {0, 2, 1, 2});
  }

  @Test
  void integersGetMargins() throws Exception {
    assertMovesAsReals(
        TensorType.INT32,
        BuiltinOperator.PAD,
        BuiltinOptions.NONE,
        flat -> 0,
        new int[] {2, 3},
        new int[] {3, 6},
        new int[] {1, 0, 1, 2});
  }

  @Test
  void truthsAreCutOut() throws Exception {
    assertMovesAsReals(
        TensorType.BOOL,
        BuiltinOperator.SLICE,
        BuiltinOptions.NONE,
        flat -> 0,
        new int[] {3, 4},
        new int[] {2, 2},
        new int[] {1, 2},
        new int[] {2, 2});
  }

  @Test
  void truthsAreRepeated() throws Exception {
    assertMovesAsReals(
        TensorType.BOOL,
        BuiltinOperator.TILE,
        BuiltinOptions.NONE,
        flat -> 0,
        new int[] {3, 2},
        new int[] {3, 6},
        new int[] {1, 3});
  }

  @Test
  void truthsAreGathered() throws Exception {
    assertMovesAsReals(
        TensorType.BOOL,
        BuiltinOperator.GATHER,
        BuiltinOptions.GatherOptions,
        flat -> GatherOptions.createGatherOptions(flat, 1, 0),
        new int[] {3, 4},
        new int[] {3, 3},
        new int[] {2, 0, 1});
  }

  @Test
  void truthsAreSplit() throws Exception {
    int axis = file.constant(TensorType.INT32, new int[0], 1);
    int x = file.input(TensorType.BOOL, new int[] {2, 4}, 1, 0, 0, 1, 1, 1, 0, 0);
    int y = file.result(TensorType.BOOL, 2, 2);
    int z = file.result(TensorType.BOOL, 2, 2);
    file.operator(
        BuiltinOperator.SPLIT,
        BuiltinOptions.SplitOptions,
        flat -> SplitOptions.createSplitOptions(flat, 2),
        new int[] {axis, x},
        y,
        z);
    var results = file.run(y, z);
    assertArrayEquals(new double[] {1, 0, 1, 1}, results.get(0));
    assertArrayEquals(new double[] {0, 1, 0, 0}, results.get(1));
  }

  /** The number around them is computed too. */
  @Test
  void marginsMayBeComputed() throws Exception {
    int x = file.input(TensorType.BOOL, new int[] {2}, 0, 1);
    int pads = file.constant(TensorType.INT32, new int[] {1, 2}, 2, 1);
    int value = file.input(TensorType.BOOL, new int[0], 1);
    int y = file.result(TensorType.BOOL, 5);
    file.operator(BuiltinOperator.PADV2, new int[] {x, pads, value}, y);
    assertGives(new double[] {1, 1, 0, 1, 1}, y);
  }

  @Test
  void integersOfEightBitsAreScattered() throws Exception {
    int places = file.input(TensorType.INT32, new int[] {3, 1}, 3, 0, 3);
    int x = file.input(TensorType.INT8, new int[] {3}, 5, -6, 7);
    int shape = file.constant(TensorType.INT32, new int[] {1}, 4);
    int y = file.result(TensorType.INT8, 4);
    file.operator(BuiltinOperator.SCATTER_ND, new int[] {places, x, shape}, y);
    assertGives(new double[] {-6, 0, 0, 12}, y);
  }

  @Test
  void integersOfEightBitsAreFound() throws Exception {
    int x = file.input(TensorType.UINT8, new int[] {4}, 200, 0, 200, 7);
    int places = file.result(TensorType.INT64, 3, 1);
    int different = file.result(TensorType.UINT8, 3);
    int from = file.result(TensorType.INT32, 4);
    file.operator(BuiltinOperator.WHERE, new int[] {x}, places)
        .operator(BuiltinOperator.UNIQUE, new int[] {x}, different, from);
    var results = file.run(places, different, from);
    assertArrayEquals(new double[] {0, 2, 3}, results.get(0));
    assertArrayEquals(new double[] {200, 0, 7}, results.get(1));
    assertArrayEquals(new double[] {0, 1, 0, 2}, results.get(2));
  }
}
