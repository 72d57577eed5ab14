// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Operations on random shapes, each call between guard pages, against the reference. */
class FloatOperationsTest {
  private static final int ROUNDS = 60;

  private static final float[] SPECIAL = {
    0,
    -0f,
    1,
    -1,
    2,
    -2,
    0.5f,
    3,
    -3,
    Float.NaN,
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.MIN_VALUE,
    Float.MIN_NORMAL,
    Float.MAX_VALUE,
    88,
    -88,
    100,
    -100,
    1e-3f
  };

  private final CpuDevice cpu = new CpuDevice("1.0.0");

  /** Fills one graph by random numbers, and says what it is given. */
  @FunctionalInterface
  interface Source {
    byte[][] fill(TestGraph graph, Random random);
  }

  private void compare(Level level, double tolerance, Source source) throws Exception {
    Levels.assume(level);
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    try (X86Device device = Levels.device(level)) {
      for (int round = 0; round < ROUNDS; round++) {
        try (TestGraph graph = new TestGraph()) {
          byte[][] inputs = source.fill(graph, random);
          String message = "round " + round + ", seed " + seed;
          byte[] expected = TestGraph.run(cpu, graph.model(), inputs);
          byte[] actual = TestGraph.run(device, graph.model(), inputs);
          byte[] guarded = GuardedProgram.run(device, level, graph.model(), random, inputs);
          if (tolerance == 0) {
            TestGraph.assertSame(expected, actual, message);
            TestGraph.assertSame(expected, guarded, message + ", guarded");
          } else {
            assertNear(tolerance, expected, actual, message);
            assertNear(tolerance, expected, guarded, message + ", guarded");
          }
        }
      }
    }
  }

  private static void assertNear(double tolerance, byte[] expected, byte[] actual, String message) {
    float[] wanted = TestGraph.floats(expected);
    float[] found = TestGraph.floats(actual);
    assertEquals(wanted.length, found.length, message);
    for (int i = 0; i < wanted.length; i++) {
      double size = Float.isFinite(wanted[i]) ? Math.max(1, Math.abs(wanted[i])) : 0;
      assertEquals(wanted[i], found[i], tolerance * size, message + ", element " + i);
    }
  }

  static byte[] floats(Random random, double scale, int... shape) {
    float[] values = new float[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) (scale * (random.nextDouble() * 2 - 1));
    }
    return TestGraph.bytes(values);
  }

  private static byte[] special(Random random, int... shape) {
    float[] values = new float[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          random.nextInt(3) > 0
              ? SPECIAL[random.nextInt(SPECIAL.length)]
              : random.nextFloat() * 20 - 10;
    }
    return TestGraph.bytes(values);
  }

  private static byte[] bytes(Random random, int limit, int... shape) {
    byte[] values = new byte[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = (byte) random.nextInt(limit);
    }
    return values;
  }

  private static byte[] ints(Random random, int... shape) {
    int[] values = new int[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextInt(7) == 0 ? random.nextInt() : random.nextInt(9) - 4;
    }
    return TestGraph.bytes(values);
  }

  static int count(int... shape) {
    return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
  }

  static int[] shape(Random random) {
    return new int[] {
      1 + random.nextInt(2), 1 + random.nextInt(4), 1 + random.nextInt(5), 1 + random.nextInt(40)
    };
  }

  /** Two shapes that are brought to one, and that. */
  private static int[][] broadcast(Random random) {
    int[] result = shape(random);
    int[] first = result.clone();
    int[] second = result.clone();
    int way = random.nextInt(4);
    for (int i = 0; i < result.length; i++) {
      if (way > 0 && random.nextBoolean()) {
        (way == 1 ? first : way == 2 ? second : random.nextBoolean() ? first : second)[i] = 1;
      }
      result[i] = Math.max(first[i], second[i]);
    }
    return new int[][] {first, second, result};
  }

  private static <T> T one(Random random, List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void functionsOfOneNumberAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        2e-6,
        (graph, random) -> {
          OperationType code =
              one(
                  random,
                  List.of(
                      OperationCode.EXP,
                      OperationCode.LOG,
                      OperationCode.SIN,
                      OperationCode.FLOOR,
                      OperationCode.ELU,
                      OperationCode.ABS,
                      OperationCode.RSQRT,
                      ThalamusExtension.ERF));
          int[] shape = shape(random);
          int input = graph.input(TENSOR_FLOAT32, NONE, shape);
          int output = graph.output(TENSOR_FLOAT32, NONE, shape);
          graph.operation(
              code,
              code == OperationCode.ELU
                  ? List.of(input, graph.float32(random.nextFloat() * 2))
                  : List.of(input),
              output);
          boolean isBounded = code == OperationCode.SIN || random.nextBoolean();
          return new byte[][] {isBounded ? floats(random, 30, shape) : special(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void functionsOfTwoNumbersAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        3e-6,
        (graph, random) -> {
          OperationType code =
              one(
                  random,
                  List.of(
                      OperationCode.ADD,
                      OperationCode.DIV,
                      OperationCode.MAXIMUM,
                      OperationCode.MINIMUM,
                      OperationCode.PRELU,
                      OperationCode.POW,
                      OperationCode.POW,
                      ThalamusExtension.SQUARED_DIFFERENCE,
                      ThalamusExtension.FLOOR_DIV));
          int[][] shapes = broadcast(random);
          int x = graph.input(TENSOR_FLOAT32, NONE, shapes[0]);
          int y = graph.input(TENSOR_FLOAT32, NONE, shapes[1]);
          int output = graph.output(TENSOR_FLOAT32, NONE, shapes[2]);
          boolean isArithmetic = code == OperationCode.ADD || code == OperationCode.DIV;
          graph.operation(
              code,
              isArithmetic ? List.of(x, y, graph.int32(random.nextInt(4))) : List.of(x, y),
              output);
          boolean isSpecial = !isArithmetic && random.nextBoolean();
          return isSpecial
              ? new byte[][] {special(random, shapes[0]), special(random, shapes[1])}
              : new byte[][] {floats(random, 5, shapes[0]), floats(random, 5, shapes[1])};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void powersByConstantsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        3e-6,
        (graph, random) -> {
          int[] shape = shape(random);
          int x = graph.input(TENSOR_FLOAT32, NONE, shape);
          float exponent = one(random, List.of(2f, 3f, 0.5f, -1f, 1.7f));
          int y = graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(exponent), 1);
          graph.operation(
              OperationCode.POW, List.of(x, y), graph.output(TENSOR_FLOAT32, NONE, shape));
          return new byte[][] {special(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void integersAndQuestionsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperationType code =
              one(
                  random,
                  List.of(
                      OperationCode.ADD,
                      OperationCode.MUL,
                      OperationCode.SUB,
                      OperationCode.MAXIMUM,
                      OperationCode.MINIMUM,
                      OperationCode.EQUAL,
                      OperationCode.NOT_EQUAL,
                      OperationCode.LESS,
                      OperationCode.LESS_EQUAL,
                      OperationCode.GREATER,
                      OperationCode.GREATER_EQUAL,
                      OperationCode.LOGICAL_AND,
                      OperationCode.LOGICAL_OR));
          int[][] shapes = broadcast(random);
          boolean isArithmetic =
              List.of(OperationCode.ADD, OperationCode.SUB, OperationCode.MUL).contains(code);
          boolean isExtreme = List.of(OperationCode.MAXIMUM, OperationCode.MINIMUM).contains(code);
          boolean isLogic =
              List.of(OperationCode.LOGICAL_AND, OperationCode.LOGICAL_OR).contains(code);
          OperandCode type =
              isLogic
                  ? TENSOR_BOOL8
                  : isArithmetic || isExtreme
                      ? TENSOR_INT32
                      : one(
                          random,
                          List.of(
                              TENSOR_INT32,
                              TENSOR_FLOAT32,
                              TENSOR_BOOL8,
                              TENSOR_QUANT8_ASYMM,
                              TENSOR_QUANT8_ASYMM_SIGNED));
          Quantization quantization =
              type == TENSOR_QUANT8_ASYMM || type == TENSOR_QUANT8_ASYMM_SIGNED
                  ? Quantization.of(0.1f, 3)
                  : NONE;
          int x = graph.input(type, quantization, shapes[0]);
          int y = graph.input(type, quantization, shapes[1]);
          int output =
              graph.output(
                  isArithmetic || isExtreme ? TENSOR_INT32 : TENSOR_BOOL8, NONE, shapes[2]);
          graph.operation(
              code, isArithmetic ? List.of(x, y, graph.int32(0)) : List.of(x, y), output);
          byte[][] inputs = new byte[2][];
          for (int i = 0; i < 2; i++) {
            inputs[i] =
                switch (type) {
                  case TENSOR_INT32 -> ints(random, shapes[i]);
                  case TENSOR_FLOAT32 -> special(random, shapes[i]);
                  case TENSOR_BOOL8 -> bytes(random, 2, shapes[i]);
                  default -> bytes(random, 256, shapes[i]);
                };
          }
          return inputs;
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void choicesAndCastsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int[] shape = shape(random);
          if (random.nextBoolean()) {
            OperandCode type =
                one(random, List.of(TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM_SIGNED));
            boolean isStored = type == TENSOR_QUANT8_ASYMM_SIGNED;
            Quantization ofFirst = isStored ? Quantization.of(0.1f, 3) : NONE;
            Quantization ofSecond = isStored ? Quantization.of(0.2f, -9) : NONE;
            int condition = graph.input(TENSOR_BOOL8, NONE, shape);
            int x = graph.input(type, ofFirst, shape);
            int y = graph.input(type, ofSecond, shape);
            int output = graph.output(type, ofFirst, shape);
            graph.operation(OperationCode.SELECT, List.of(condition, x, y), output);
            return new byte[][] {
              bytes(random, 2, shape),
              isStored ? bytes(random, 256, shape) : ints(random, shape),
              isStored ? bytes(random, 256, shape) : ints(random, shape)
            };
          }
          List<OperandCode> types =
              List.of(TENSOR_FLOAT32, TENSOR_INT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM);
          OperandCode from = one(random, types);
          OperandCode to = one(random, types);
          int input =
              graph.input(
                  from, from == TENSOR_QUANT8_ASYMM ? Quantization.of(0.5f, 3) : NONE, shape);
          int output =
              graph.output(to, to == TENSOR_QUANT8_ASYMM ? Quantization.of(0.5f, 3) : NONE, shape);
          graph.operation(OperationCode.CAST, List.of(input), output);
          return new byte[][] {
            switch (from) {
              case TENSOR_FLOAT32 ->
                  to == TENSOR_FLOAT16 ? floats(random, 100, shape) : special(random, shape);
              case TENSOR_INT32 -> ints(random, shape);
              case TENSOR_FLOAT16 -> halves(random, shape);
              default -> bytes(random, 256, shape);
            }
          };
        });
  }

  private static byte[] halves(Random random, int... shape) {
    byte[] bytes = new byte[2 * count(shape)];
    for (int i = 0; i < bytes.length; i += 2) {
      short half = Float.floatToFloat16(random.nextFloat() * 200 - 100);
      bytes[i] = (byte) half;
      bytes[i + 1] = (byte) (half >> 8);
    }
    return bytes;
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void movedElementsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type =
              one(random, List.of(TENSOR_FLOAT32, TENSOR_INT32, TENSOR_FLOAT16, TENSOR_BOOL8));
          int[] shape = shape(random);
          int x = graph.input(type, NONE, shape);
          byte[] values =
              switch (type) {
                case TENSOR_FLOAT16 -> halves(random, shape);
                case TENSOR_BOOL8 -> bytes(random, 2, shape);
                default -> floats(random, 5, shape);
              };
          switch (random.nextInt(4)) {
            case 0 -> {
              int axes =
                  graph.constant(
                      TENSOR_INT32,
                      NONE,
                      TestGraph.bytes(random.nextInt(2), 2 + random.nextInt(2)),
                      2);
              graph.operation(
                  ThalamusExtension.REVERSE, List.of(x, axes), graph.output(type, NONE, shape));
            }
            case 1 -> {
              int[] padded = shape.clone();
              int[] paddings = new int[8];
              for (int i = 0; i < 8; i++) {
                paddings[i] = random.nextInt(shape[i / 2]);
                padded[i / 2] += paddings[i];
              }
              int pads = graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(paddings), 4, 2);
              graph.operation(
                  ThalamusExtension.MIRROR_PAD,
                  List.of(x, pads, graph.int32(random.nextInt(2))),
                  graph.output(type, NONE, padded));
            }
            case 2 -> {
              int y = graph.input(type, NONE, shape);
              int[] joined = shape.clone();
              int axis = random.nextInt(4);
              joined[axis] *= 2;
              graph.operation(
                  ThalamusExtension.CONCATENATION,
                  List.of(x, y, graph.int32(axis)),
                  graph.output(type, NONE, joined));
              return new byte[][] {values, values};
            }
            default -> {
              int dimensions = graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(3, 2, 4), 3);
              int steps =
                  graph.constant(
                      TENSOR_INT32,
                      NONE,
                      TestGraph.bytes(0, random.nextInt(2), -random.nextInt(2)),
                      3);
              graph.operation(
                  ThalamusExtension.AS_STRIDED,
                  List.of(x, dimensions, steps, graph.int32(count(shape) > 4 ? 3 : 0)),
                  graph.output(type, NONE, 3, 2, 4));
            }
          }
          return new byte[][] {values};
        });
  }
}
