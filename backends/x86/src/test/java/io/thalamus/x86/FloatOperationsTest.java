// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.broadcast;
import static io.thalamus.x86.RandomGraphs.bytes;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.count;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.halves;
import static io.thalamus.x86.RandomGraphs.ints;
import static io.thalamus.x86.RandomGraphs.one;
import static io.thalamus.x86.RandomGraphs.shape;
import static io.thalamus.x86.RandomGraphs.special;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.operations.IntRange;
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
  private static final List<OperandCode> INTEGERS =
      List.of(TENSOR_INT32, TENSOR_QUANT16_SYMM, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED);

  private static Quantization quantization(OperandCode type, Random random) {
    return switch (type) {
      case TENSOR_INT32 -> NONE;
      case TENSOR_QUANT16_SYMM -> Quantization.of(0.1f, 0);
      default -> {
        IntRange range = IntRange.of(type);
        yield Quantization.of(0.1f, random.nextInt(range.min(), range.max() + 1));
      }
    };
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
        6e-7,
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
        6e-7,
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
  void rescaledIntegersEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int[] shape = shape(random);
          int[] numbers =
              random.ints(RandomGraphs.count(shape)).map(x -> x >> random.nextInt(32)).toArray();
          numbers[0] = random.nextBoolean() ? Integer.MIN_VALUE : Integer.MAX_VALUE;
          int any = random.nextInt(1 << 30, Integer.MAX_VALUE);
          int multiplier = one(random, List.of(0, 1 << 30, Integer.MAX_VALUE, any, any));
          int shift = one(random, List.of(0, -1, -2, -31, 5, random.nextInt(-31, 31)));
          OperandCode from = one(random, INTEGERS);
          OperandCode to = one(random, INTEGERS);
          graph.operation(
              ThalamusExtension.RESCALE,
              List.of(
                  graph.input(from, quantization(from, random), shape),
                  graph.int32(multiplier),
                  graph.int32(shift)),
              graph.output(to, quantization(to, random), shape));
          byte[] data = TestGraph.bytes(numbers);
          int size = Elements.of(from).size();
          return new byte[][] {Arrays.copyOf(data, RandomGraphs.count(shape) * size)};
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
                      OperationCode.DIV,
                      OperationCode.MAXIMUM,
                      OperationCode.MINIMUM,
                      ThalamusExtension.BITWISE_XOR,
                      ThalamusExtension.RIGHT_SHIFT,
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
              List.of(OperationCode.ADD, OperationCode.SUB, OperationCode.MUL, OperationCode.DIV)
                  .contains(code);
          boolean isPlain =
              List.of(
                      OperationCode.MAXIMUM,
                      OperationCode.MINIMUM,
                      ThalamusExtension.BITWISE_XOR,
                      ThalamusExtension.RIGHT_SHIFT)
                  .contains(code);
          boolean isLogic =
              List.of(OperationCode.LOGICAL_AND, OperationCode.LOGICAL_OR).contains(code);
          OperandCode type =
              isLogic
                  ? TENSOR_BOOL8
                  : isArithmetic || isPlain
                      ? TENSOR_INT32
                      : one(
                          random,
                          List.of(
                              TENSOR_INT32,
                              TENSOR_FLOAT32,
                              TENSOR_BOOL8,
                              TENSOR_QUANT8_ASYMM,
                              TENSOR_QUANT8_ASYMM_SIGNED));
          boolean isStored = type == TENSOR_QUANT8_ASYMM || type == TENSOR_QUANT8_ASYMM_SIGNED;
          // Of one scale, of scales that make equal numbers of different bytes, of any two.
          float scale = one(random, List.of(0.1f, 0.2f, 0.173f));
          int x = graph.input(type, isStored ? Quantization.of(0.1f, 3) : NONE, shapes[0]);
          int y = graph.input(type, isStored ? Quantization.of(scale, 3) : NONE, shapes[1]);
          int output =
              graph.output(isArithmetic || isPlain ? TENSOR_INT32 : TENSOR_BOOL8, NONE, shapes[2]);
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
  void functionsOfOneIntegerEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int[] shape = shape(random);
          OperationType code =
              one(
                  random,
                  List.of(OperationCode.ABS, OperationCode.NEG, ThalamusExtension.FLOOR_DIV));
          int x = graph.input(TENSOR_INT32, NONE, shape);
          int divisor = one(random, List.of(-1, 2, 3, -7, 10, Integer.MIN_VALUE));
          graph.operation(
              code,
              code == ThalamusExtension.FLOOR_DIV
                  ? List.of(x, graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(divisor), 1))
                  : List.of(x),
              graph.output(TENSOR_INT32, NONE, shape));
          return new byte[][] {ints(random, shape)};
        });
  }

  /** Functions go into what computes their argument, unless somebody else reads that. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void fusedFunctionsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        2e-5,
        (graph, random) -> {
          int[] shape = shape(random);
          int channels = 1 + random.nextInt(40);
          int x = graph.input(TENSOR_FLOAT32, NONE, shape);
          int filter =
              graph.constant(
                  TENSOR_FLOAT32,
                  NONE,
                  floats(random, 0.3, channels, 1, 1, shape[3]),
                  channels,
                  1,
                  1,
                  shape[3]);
          int bias = graph.constant(TENSOR_FLOAT32, NONE, floats(random, 1, channels), channels);
          int[] wide = {shape[0], shape[1], shape[2], channels};
          int sums = graph.temporary(TENSOR_FLOAT32, NONE, wide);
          int one = graph.int32(1);
          graph.operation(
              OperationCode.CONV_2D,
              List.of(x, filter, bias, one, one, one, graph.int32(random.nextInt(2))),
              sums);
          boolean isProduct = random.nextBoolean();
          boolean isReadAgain = random.nextInt(3) == 0;
          int output = graph.output(TENSOR_FLOAT32, NONE, wide);
          int result = isReadAgain ? graph.temporary(TENSOR_FLOAT32, NONE, wide) : output;
          int function = isProduct ? graph.temporary(TENSOR_FLOAT32, NONE, wide) : result;
          OperationCode code =
              isProduct
                  ? OperationCode.LOGISTIC
                  : one(
                      random,
                      List.of(
                          OperationCode.LOGISTIC, OperationCode.TANH, OperationCode.HARD_SWISH));
          graph.operation(code, List.of(sums), function);
          if (isProduct) {
            graph.operation(
                OperationCode.MUL,
                random.nextBoolean()
                    ? List.of(sums, function, graph.int32(0))
                    : List.of(function, sums, graph.int32(0)),
                result);
          }
          if (isReadAgain) {
            graph.operation(OperationCode.ADD, List.of(sums, result, graph.int32(0)), output);
          }
          return new byte[][] {floats(random, 3, shape)};
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

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void movedElementsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type =
              one(
                  random,
                  List.of(
                      TENSOR_FLOAT32,
                      TENSOR_INT32,
                      TENSOR_FLOAT16,
                      TENSOR_BOOL8,
                      TENSOR_QUANT16_SYMM));
          Quantization of = type == TENSOR_QUANT16_SYMM ? Quantization.of(0.1f, 0) : NONE;
          int[] shape = shape(random);
          int x = graph.input(type, of, shape);
          byte[] values =
              switch (type) {
                case TENSOR_FLOAT16, TENSOR_QUANT16_SYMM -> halves(random, shape);
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
                  ThalamusExtension.REVERSE, List.of(x, axes), graph.output(type, of, shape));
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
                  graph.output(type, of, padded));
            }
            case 2 -> {
              int y = graph.input(type, of, shape);
              int[] joined = shape.clone();
              int axis = random.nextInt(4);
              joined[axis] *= 2;
              graph.operation(
                  ThalamusExtension.CONCATENATION,
                  List.of(x, y, graph.int32(axis)),
                  graph.output(type, of, joined));
              return new byte[][] {values, values};
            }
            default -> {
              int dimensions = graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(3, 2, 4), 3);
              int one = count(shape) > 4 ? 1 : 0;
              int steps =
                  graph.constant(
                      TENSOR_INT32,
                      NONE,
                      TestGraph.bytes(0, one * random.nextInt(2), -one * random.nextInt(2)),
                      3);
              graph.operation(
                  ThalamusExtension.AS_STRIDED,
                  List.of(x, dimensions, steps, graph.int32(3 * one)),
                  graph.output(type, of, 3, 2, 4));
            }
          }
          return new byte[][] {values};
        });
  }
}
