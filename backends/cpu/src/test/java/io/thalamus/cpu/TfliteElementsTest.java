// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.tck.check.OutcomeException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.AddOptions;
import org.tensorflow.lite.schema.ArgMinOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.CumsumOptions;
import org.tensorflow.lite.schema.DepthToSpaceOptions;
import org.tensorflow.lite.schema.ReducerOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.UniqueOptions;

/** Simple operators of TensorFlow Lite with numbers that were computed by hand. */
class TfliteElementsTest {
  private static final byte FLOAT = TensorType.FLOAT32;
  private static final byte INT = TensorType.INT32;
  private static final byte BOOL = TensorType.BOOL;
  private static final double E = Math.E;

  /** A tensor of a case, of one dimension unless it is said. */
  private record Given(boolean isConstant, byte type, int[] shape, double... values) {
    Given shaped(int... other) {
      return new Given(isConstant, type, other, values);
    }

    Given known() {
      return new Given(true, type, shape, values);
    }
  }

  private record Case(
      int code,
      byte optionsType,
      ToIntFunction<FlatBufferBuilder> options,
      Given expected,
      Given... inputs) {
    @Override
    public String toString() {
      return BuiltinOperator.name(code);
    }
  }

  private static Given floats(double... values) {
    return new Given(false, FLOAT, new int[] {values.length}, values);
  }

  private static Given ints(double... values) {
    return new Given(false, INT, new int[] {values.length}, values);
  }

  private static Given of(byte type, double... values) {
    return new Given(false, type, new int[] {values.length}, values);
  }

  private static Given truths(double... values) {
    return new Given(false, BOOL, new int[] {values.length}, values);
  }

  private static Case plain(int code, Given expected, Given... inputs) {
    return new Case(code, BuiltinOptions.NONE, flat -> 0, expected, inputs);
  }

  private static Case reduced(int code, Given expected, Given input) {
    return new Case(
        code,
        BuiltinOptions.ReducerOptions,
        flat -> ReducerOptions.createReducerOptions(flat, false),
        expected,
        input.shaped(2, 2),
        ints(1).known());
  }

  static Stream<Case> cases() {
    Given some = floats(-2.5, -1, 0, 0.5, 7);
    Given a = ints(-7, 5, 6, 3);
    Given b = ints(2, 5, -4, 8);
    List<Case> cases = new ArrayList<>();
    cases.add(plain(BuiltinOperator.ABS, floats(2.5, 1, 0, 0.5, 7), some));
    cases.add(plain(BuiltinOperator.FLOOR, floats(-3, -1, 0, 0, 7), some));
    cases.add(plain(BuiltinOperator.ROUND, floats(-2, -1, 0, 0, 2), floats(-2.5, -1, 0, 0.5, 1.5)));
    cases.add(plain(BuiltinOperator.RELU6, floats(0, 0, 0, 0.5, 6), some));
    cases.add(plain(BuiltinOperator.RELU_N1_TO_1, floats(-1, -1, 0, 0.5, 1), some));
    cases.add(plain(BuiltinOperator.ELU, floats(1 / E - 1, 0, 2), floats(-1, 0, 2)));
    cases.add(plain(BuiltinOperator.HARD_SWISH, floats(0, -1 / 3.0, 0, 4), floats(-4, -1, 0, 4)));
    cases.add(plain(BuiltinOperator.LOGISTIC, floats(0.5, E / (1 + E)), floats(0, 1)));
    cases.add(plain(BuiltinOperator.LOG, floats(0, 1), floats(1, E)));
    cases.add(plain(BuiltinOperator.SQRT, floats(0, 1.5), floats(0, 2.25)));
    cases.add(plain(BuiltinOperator.ZEROS_LIKE, floats(0, 0, 0, 0, 0), some));
    cases.add(plain(BuiltinOperator.SUB, ints(-9, 0, 10, -5), a, b));
    cases.add(plain(BuiltinOperator.MINIMUM, ints(-7, 5, -4, 3), a, b));
    cases.add(plain(BuiltinOperator.FLOOR_MOD, ints(1, 0, -2, 3), a, b));
    cases.add(
        plain(BuiltinOperator.FLOOR_MOD, floats(0.5, -0.5), floats(-2.5, 2.5), floats(1, -1)));
    cases.add(plain(BuiltinOperator.BITWISE_XOR, ints(-7 ^ 2, 0, 6 ^ -4, 3 ^ 8), a, b));
    cases.add(plain(BuiltinOperator.RIGHT_SHIFT, ints(-2, 2), ints(-7, 5), ints(2, 1)));
    addBits(cases);
    cases.add(plain(BuiltinOperator.EQUAL, truths(0, 1, 0, 0), a, b));
    cases.add(plain(BuiltinOperator.NOT_EQUAL, truths(1, 0, 1, 1), a, b));
    cases.add(plain(BuiltinOperator.GREATER, truths(0, 0, 1, 0), a, b));
    cases.add(plain(BuiltinOperator.GREATER_EQUAL, truths(0, 1, 1, 0), a, b));
    cases.add(plain(BuiltinOperator.LESS_EQUAL, truths(1, 1, 0, 1), a, b));
    Given first = truths(0, 0, 1, 1);
    Given second = truths(0, 1, 0, 1);
    cases.add(plain(BuiltinOperator.LOGICAL_AND, truths(0, 0, 0, 1), first, second));
    cases.add(plain(BuiltinOperator.LOGICAL_OR, truths(0, 1, 1, 1), first, second));
    cases.add(plain(BuiltinOperator.LOGICAL_NOT, truths(1, 1, 0, 0), first));
    cases.add(plain(BuiltinOperator.SELECT, ints(2, 5, 6, 3), first, a, b));
    cases.add(plain(BuiltinOperator.SELECT, truths(1, 0, 0, 1), first, second, truths(1, 0, 1, 1)));
    cases.add(
        plain(
            BuiltinOperator.PRELU,
            floats(-1, 2, -30, 4).shaped(2, 2),
            floats(-2, 2, -6, 4).shaped(2, 2),
            floats(0.5, 5, 5, 5).shaped(2, 2).known()));
    cases.add(
        plain(
            BuiltinOperator.LOG_SOFTMAX,
            floats(-Math.log(1 + E), 1 - Math.log(1 + E)).shaped(1, 2),
            floats(0, 1).shaped(1, 2)));
    cases.add(
        plain(
            BuiltinOperator.TILE,
            ints(1, 2, 1, 2, 1, 2, 1, 2).shaped(2, 4),
            ints(1, 2).shaped(1, 2),
            ints(2, 2).known()));
    cases.add(
        plain(
            BuiltinOperator.BROADCAST_TO,
            ints(1, 1, 2, 2).shaped(2, 2),
            ints(1, 2).shaped(2, 1),
            ints(2, 2).known()));
    cases.add(
        plain(
            BuiltinOperator.EXPAND_DIMS,
            ints(4, 5).shaped(2, 1),
            ints(4, 5),
            ints(-1).shaped().known()));
    cases.add(plain(BuiltinOperator.RANK, ints(3).shaped(), ints(1, 2).shaped(1, 2, 1)));
    cases.add(
        plain(
            BuiltinOperator.EMBEDDING_LOOKUP,
            floats(5, 6, 1, 2).shaped(2, 2),
            ints(2, 0),
            floats(1, 2, 3, 4, 5, 6).shaped(3, 2).known()));
    cases.add(reduced(BuiltinOperator.REDUCE_MIN, floats(-1, 0), floats(3, -1, 0, 2)));
    cases.add(reduced(BuiltinOperator.REDUCE_PROD, floats(-3, 0), floats(3, -1, 0, 2)));
    cases.add(reduced(BuiltinOperator.REDUCE_ALL, truths(0, 1), truths(0, 1, 1, 1)));
    cases.add(reduced(BuiltinOperator.REDUCE_ANY, truths(1, 0), truths(0, 1, 0, 0)));
    cases.add(
        new Case(
            BuiltinOperator.ARG_MIN,
            BuiltinOptions.ArgMinOptions,
            flat -> ArgMinOptions.createArgMinOptions(flat, INT),
            ints(1, 0),
            floats(3, -1, 0, 2).shaped(2, 2),
            ints(1).shaped().known()));
    cases.add(
        new Case(
            BuiltinOperator.CUMSUM,
            BuiltinOptions.CumsumOptions,
            flat -> CumsumOptions.createCumsumOptions(flat, false, false),
            ints(1, 3, 3, 7).shaped(2, 2),
            ints(1, 2, 3, 4).shaped(2, 2),
            ints(1).shaped().known()));
    cases.add(
        new Case(
            BuiltinOperator.DEPTH_TO_SPACE,
            BuiltinOptions.DepthToSpaceOptions,
            flat -> DepthToSpaceOptions.createDepthToSpaceOptions(flat, 2),
            floats(1, 2, 5, 6, 3, 4, 7, 8).shaped(1, 2, 4, 1),
            floats(1, 2, 3, 4, 5, 6, 7, 8).shaped(1, 1, 2, 4)));
    return cases.stream();
  }

  /** Integers without a sign of 32 bits are seen as their bits, and those of 16 bits wrap. */
  private static void addBits(List<Case> cases) {
    byte whole = TensorType.UINT32;
    double most = 0xFFFF_FFFFL;
    Given large = of(whole, most, 0x8000_0000L, 5);
    Given few = of(whole, 1, 7, 9);
    cases.add(plain(BuiltinOperator.BITCAST, ints(0x3F800000, 0), floats(1, 0)));
    cases.add(plain(BuiltinOperator.BITCAST, floats(1, -2), ints(0x3F800000, 0xC0000000)));
    cases.add(
        plain(
            BuiltinOperator.BITCAST,
            of(TensorType.UINT8, 0, 0, 128, 63, 1, 255, 0, 0).shaped(2, 4),
            ints(0x3F800000, 0xFF01)));
    cases.add(
        plain(
            BuiltinOperator.BITCAST,
            floats(1, 3),
            of(TensorType.UINT8, 0, 0, 128, 63, 0, 0, 64, 64).shaped(2, 4)));
    cases.add(
        plain(BuiltinOperator.BITCAST, of(TensorType.INT16, -2, 1).shaped(1, 2), ints(0x1FFFE)));
    cases.add(plain(BuiltinOperator.LESS, truths(0, 0, 1), large, few));
    cases.add(plain(BuiltinOperator.MAXIMUM, of(whole, -1, Integer.MIN_VALUE, 9), large, few));
    cases.add(
        plain(
            BuiltinOperator.RIGHT_SHIFT,
            of(whole, Integer.MAX_VALUE, 1 << 24, 5),
            large,
            of(whole, 1, 7, 0)));
    cases.add(plain(BuiltinOperator.CAST, floats(0x1p32, 0x1p31, 5), large));
    cases.add(plain(BuiltinOperator.CAST, of(whole, Integer.MIN_VALUE, 7), floats(0x1p31, 7.5)));
    cases.add(plain(BuiltinOperator.CAST, of(TensorType.INT64, 1, 7, 9), few));
    cases.add(plain(BuiltinOperator.CAST, of(TensorType.INT16, -1, 5), ints(0x1FFFF, 5)));
    cases.add(plain(BuiltinOperator.CAST, ints(65535, 5), of(TensorType.UINT16, 65535, 5)));
    cases.add(
        plain(
            BuiltinOperator.ADD,
            of(TensorType.INT16, Short.MIN_VALUE, 5),
            of(TensorType.INT16, Short.MAX_VALUE, 2),
            of(TensorType.INT16, 1, 3)));
  }

  @Test
  void numbersThatDoNotFit32BitsEndTheExecution() {
    OperatorFile file = new OperatorFile();
    int x = file.input(TensorType.UINT32, new int[] {1}, 0x8000_0000L);
    int y = file.result(TensorType.INT64, 1);
    file.operator(BuiltinOperator.CAST, new int[] {x}, y);
    Throwable failed = assertThrows(OutcomeException.class, () -> file.run(y));
    assertTrue(failed.getMessage().contains("beyond 32 bits"), failed.getMessage());
  }

  @ParameterizedTest
  @MethodSource("cases")
  void givesWhatItsDefinitionSays(Case each) throws Exception {
    OperatorFile file = new OperatorFile();
    int[] inputs =
        Arrays.stream(each.inputs())
            .mapToInt(
                given ->
                    given.isConstant()
                        ? file.constant(given.type(), given.shape(), given.values())
                        : file.input(given.type(), given.shape(), given.values()))
            .toArray();
    int result = file.result(each.expected().type(), each.expected().shape());
    file.operator(each.code(), each.optionsType(), each.options(), inputs, result);
    assertArrayEquals(each.expected().values(), file.run(result).getFirst(), 1e-6);
  }

  @Test
  void sizesThatOnlyAnExecutionTells() throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(FLOAT, new int[] {5}, 0, 2, 0, Double.NaN, 1);
    int places = file.result(TensorType.INT64, 5, 1);
    int sizes = file.result(INT, 2);
    file.operator(BuiltinOperator.WHERE, new int[] {x}, places)
        .operator(BuiltinOperator.SHAPE, new int[] {places}, sizes);
    assertArrayEquals(new double[] {3, 1}, file.run(sizes).getFirst());
  }

  /** A dimension that is not named is taken whole. */
  @Test
  void slicesFromComputedPlacesOn() throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(FLOAT, new int[] {3, 2}, 1, 2, 3, 4, 5, 6);
    int begin = file.input(INT, new int[] {1}, 1);
    int end = file.input(INT, new int[] {1}, 3);
    int strides = file.constant(INT, new int[] {1}, 1);
    int y = file.result(FLOAT, 0, 2);
    file.operator(
        BuiltinOperator.STRIDED_SLICE,
        BuiltinOptions.StridedSliceOptions,
        flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 0, 0, 0, 0, false),
        new int[] {x, begin, end, strides},
        y);
    assertArrayEquals(new double[] {3, 4, 5, 6}, file.run(y).getFirst());
  }

  /** The first number of each row, from the second row on: the mask of ends names both axes. */
  @Test
  void oneIndexHasNoEnd() throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(FLOAT, new int[] {3, 2}, 1, 2, 3, 4, 5, 6);
    int begin = file.constant(INT, new int[] {2}, 1, 0);
    int end = file.constant(INT, new int[] {2}, 2, 1);
    int strides = file.input(INT, new int[] {2}, 1, 1);
    int y = file.result(FLOAT, 2);
    file.operator(
        BuiltinOperator.STRIDED_SLICE,
        BuiltinOptions.StridedSliceOptions,
        flat -> StridedSliceOptions.createStridedSliceOptions(flat, 0, 3, 0, 0, 2, false),
        new int[] {x, begin, end, strides},
        y);
    assertArrayEquals(new double[] {3, 5}, file.run(y).getFirst());
  }

  /** One of each number in the order of their first places, and for each where it went. */
  @ParameterizedTest
  @MethodSource("kinds")
  void numbersThatDiffer(byte type) throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(type, new int[] {6}, 4, 2, 4, 9, 2, 4);
    int different = file.result(type, 6);
    int places = file.result(INT, 6);
    file.operator(
        BuiltinOperator.UNIQUE,
        BuiltinOptions.UniqueOptions,
        flat -> UniqueOptions.createUniqueOptions(flat, INT),
        new int[] {x},
        different,
        places);
    List<double[]> results = file.run(different, places);
    assertArrayEquals(new double[] {4, 2, 9}, results.get(0));
    assertArrayEquals(new double[] {0, 1, 0, 2, 1, 0}, results.get(1));
  }

  /** The shape of a scalar, and a count that ends where it begins. */
  @Test
  void vectorsWithoutElements() throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(FLOAT, new int[] {}, 3);
    int one = file.constant(FLOAT, new int[] {}, 1);
    int step = file.constant(FLOAT, new int[] {}, -0.5);
    int shape = file.result(INT, 0);
    int numbers = file.result(FLOAT, 0);
    int sums = file.result(FLOAT, 0);
    file.operator(BuiltinOperator.SHAPE, new int[] {x}, shape)
        .operator(BuiltinOperator.RANGE, new int[] {one, one, step}, numbers)
        .operator(BuiltinOperator.ADD, new int[] {x, numbers}, sums);
    List<double[]> results = file.run(shape, sums);
    assertArrayEquals(new double[0], results.get(0));
    assertArrayEquals(new double[0], results.get(1));
  }

  /** A shape without sizes broadcasts to any. */
  @Test
  void shapesBroadcastWithThatOfAScalar() throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(FLOAT, new int[] {}, 3);
    int sizes = file.input(INT, new int[] {2}, 4, 1);
    int none = file.result(INT, 0);
    int both = file.result(INT, 2);
    file.operator(BuiltinOperator.SHAPE, new int[] {x}, none)
        .operator(BuiltinOperator.BROADCAST_ARGS, new int[] {none, sizes}, both);
    assertArrayEquals(new double[] {4, 1}, file.run(both).getFirst());
  }

  /** TensorFlow Lite's kernels know no bounds of these two, and pass over them. */
  @ParameterizedTest
  @ValueSource(bytes = {ActivationFunctionType.TANH, ActivationFunctionType.SIGN_BIT})
  void fusedActivationsWithoutBoundsChangeNothing(byte activation) throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(FLOAT, new int[] {3}, -3, 0.5, 4);
    int n = file.input(INT, new int[] {3}, -3, 5, 4);
    int reals = file.result(FLOAT, 3);
    int integers = file.result(INT, 3);
    ToIntFunction<FlatBufferBuilder> options =
        flat -> AddOptions.createAddOptions(flat, activation, false);
    file.operator(BuiltinOperator.ADD, BuiltinOptions.AddOptions, options, new int[] {x, x}, reals)
        .operator(
            BuiltinOperator.ADD, BuiltinOptions.AddOptions, options, new int[] {n, n}, integers);
    List<double[]> results = file.run(reals, integers);
    assertArrayEquals(new double[] {-6, 1, 8}, results.get(0));
    assertArrayEquals(new double[] {-6, 10, 8}, results.get(1));
  }

  /** The lowest part comes first; -2 is FFFFFFFFFFFFFFFE. */
  @Test
  void longIntegersComeApart() throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(TensorType.INT64, new int[] {2}, -2, 0x01020304);
    int words = file.result(INT, 2, 2);
    int bytes = file.result(TensorType.INT8, 2, 8);
    file.operator(BuiltinOperator.BITCAST, new int[] {x}, words)
        .operator(BuiltinOperator.BITCAST, new int[] {x}, bytes);
    List<double[]> results = file.run(words, bytes);
    assertArrayEquals(new double[] {-2, -1, 0x01020304, 0}, results.get(0));
    assertArrayEquals(
        new double[] {-2, -1, -1, -1, -1, -1, -1, -1, 4, 3, 2, 1, 0, 0, 0, 0}, results.get(1));
  }

  @Test
  void smallIntegersBecomeOthersAndHalfFloats() throws Exception {
    OperatorFile file = new OperatorFile();
    int x = file.input(TensorType.INT8, new int[] {1, 2, 1, 2, 1}, -128, 7, 0, 127);
    int shorts = file.result(TensorType.INT16, 1, 2, 1, 2, 1);
    int halves = file.result(TensorType.FLOAT16, 1, 2, 1, 2, 1);
    file.operator(BuiltinOperator.CAST, new int[] {x}, shorts)
        .operator(BuiltinOperator.CAST, new int[] {x}, halves);
    List<double[]> results = file.run(shorts, halves);
    assertArrayEquals(new double[] {-128, 7, 0, 127}, results.get(0));
    assertArrayEquals(new double[] {-128, 7, 0, 127}, results.get(1));
  }

  /** Every other dimension of seven, whose sizes of 1 do not count. */
  @Test
  void everyOtherOfManyDimensionsIsReduced() throws Exception {
    OperatorFile file = new OperatorFile();
    int[] shape = {2, 3, 2, 1, 3, 2, 2};
    double[] values = IntStream.range(0, 144).mapToDouble(i -> i * 37 % 64).toArray();
    double[] expected = new double[12];
    Arrays.fill(expected, Double.NEGATIVE_INFINITY);
    for (int i = 0; i < values.length; i++) {
      int kept = i / 72 * 6 + i / 12 % 2 * 3 + i / 4 % 3; // dimensions 0, 2 and 4
      expected[kept] = Math.max(expected[kept], values[i]);
    }
    int x = file.input(FLOAT, shape, values);
    int axes = file.constant(INT, new int[] {4}, 1, 3, -2, 6);
    int y = file.result(FLOAT, 2, 2, 3);
    file.operator(
        BuiltinOperator.REDUCE_MAX,
        BuiltinOptions.ReducerOptions,
        flat -> ReducerOptions.createReducerOptions(flat, false),
        new int[] {x, axes},
        y);
    assertArrayEquals(expected, file.run(y).getFirst());
  }

  static Stream<Byte> kinds() {
    return Stream.of(FLOAT, INT);
  }
}
