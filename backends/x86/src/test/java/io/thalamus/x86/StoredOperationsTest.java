// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.x86.RandomGraphs.stored;
import static io.thalamus.x86.RandomGraphs.storedType;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.EqualScores;
import io.thalamus.tck.check.StoredLstmSteps;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.kernel.ByteSoftmax;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** 8-bit operations of random shapes, each call between guard pages, against the reference. */
@Order(Integer.MAX_VALUE)
class StoredOperationsTest {
  /** Fills one graph by random numbers, and says what it is given. */
  @FunctionalInterface
  private interface Source {
    byte[][] fill(TestGraph graph, Random random, OperandCode type);
  }

  private static void compare(Level level, Source source) throws Exception {
    RandomGraphs.compare(
        level, 0, (graph, random) -> source.fill(graph, random, storedType(random)));
  }

  private static Quantization quantization(Random random, OperandCode type, double scale) {
    IntRange range = IntRange.of(type);
    int zeroPoint = range.min() + random.nextInt(256);
    return Quantization.of(
        (float) (scale * Math.pow(2, random.nextInt(7) - 3) * (0.5 + random.nextDouble())),
        zeroPoint);
  }

  @ParameterizedTest
  @EnumSource
  void sumsAndProductsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          OperationType code =
              random.nextInt(6) == 0
                  ? ThalamusExtension.SQUARED_DIFFERENCE
                  : TestGraph.anyRounding(
                      random,
                      List.of(OperationCode.ADD, OperationCode.SUB, OperationCode.MUL)
                          .get(random.nextInt(3)));
          int[] first = shape(random);
          int[] second = first.clone();
          int[] result = first.clone();
          int way = random.nextInt(4);
          for (int i = 0; i < first.length; i++) {
            first[i] = way == 1 && random.nextBoolean() ? 1 : first[i];
            second[i] = way == 2 && random.nextBoolean() || way == 3 ? 1 : second[i];
            result[i] = Math.max(first[i], second[i]);
          }
          Quantization ofX = quantization(random, type, 0.1);
          Quantization ofY = quantization(random, type, 0.1);
          Quantization ofResult = quantization(random, type, 0.15);
          if (code == OperationCode.MUL) {
            // The scale of a product must be greater than the product of the scales.
            float scale = ofX.scale() * ofY.scale() * (1.01f + 200 * random.nextFloat());
            ofResult = Quantization.of(scale, ofResult.zeroPoint());
          }
          int x = graph.input(type, ofX, first);
          int y = graph.input(type, ofY, second);
          int output = graph.output(type, ofResult, result);
          graph.operation(
              code,
              code == ThalamusExtension.SQUARED_DIFFERENCE
                  ? List.of(x, y)
                  : List.of(x, y, graph.int32(random.nextInt(4))),
              output);
          return new byte[][] {stored(random, first), stored(random, second)};
        });
  }

  private static int[] shape(Random random) {
    return new int[] {
      1 + random.nextInt(2), 1 + random.nextInt(4), 1 + random.nextInt(5), 1 + random.nextInt(70)
    };
  }

  @ParameterizedTest
  @EnumSource
  void stepsOfLstmsEqualTheReference(Level level) throws Exception {
    compare(level, (graph, random, _) -> StoredLstmSteps.fill(graph, random));
  }

  @ParameterizedTest
  @EnumSource
  void productsOfMatricesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int batch = 1 + random.nextInt(3);
          boolean isFirstShared = random.nextInt(4) == 0;
          boolean isSecondShared = random.nextInt(3) == 0;
          int rows = 1 + random.nextInt(30);
          int inner = 1 + random.nextInt(70);
          int columns = 1 + random.nextInt(150);
          boolean isFirst = random.nextInt(3) == 0;
          boolean isSecond = random.nextBoolean();
          int[] first = {isFirstShared ? 1 : batch, isFirst ? inner : rows, isFirst ? rows : inner};
          int[] second = {
            isSecondShared ? 1 : batch, isSecond ? columns : inner, isSecond ? inner : columns
          };
          int all = isFirstShared && isSecondShared ? 1 : batch;
          Quantization ofX = quantization(random, type, 0.1);
          Quantization ofY = quantization(random, type, 0.1);
          // From results that are all the same to ones that are mostly beyond the range.
          double spread = Math.sqrt(inner) * Math.pow(4, random.nextInt(5) - 2);
          float scale = (float) (ofX.scale() * ofY.scale() * spread * 50);
          Quantization ofResult = Quantization.of(scale, quantization(random, type, 1).zeroPoint());
          byte[] factors = stored(random, second);
          List<byte[]> inputs = new ArrayList<>(List.of(stored(random, first)));
          int x = graph.input(type, ofX, first);
          int y;
          if (random.nextInt(4) == 0) {
            y = graph.constant(type, ofY, factors, second);
          } else {
            y = graph.input(type, ofY, second);
            inputs.add(factors);
          }
          List<Integer> arguments =
              new ArrayList<>(List.of(x, y, graph.bool(isFirst), graph.bool(isSecond)));
          if (random.nextBoolean()) {
            arguments.add(graph.bool(random.nextBoolean()));
          }
          graph.operation(
              ThalamusExtension.BATCH_MATMUL,
              arguments,
              graph.output(type, ofResult, all, rows, columns));
          return inputs.toArray(byte[][]::new);
        });
  }

  @ParameterizedTest
  @EnumSource
  void extremesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          OperationCode code =
              List.of(
                      OperationCode.MAXIMUM,
                      OperationCode.MINIMUM,
                      OperationCode.REDUCE_MAX,
                      OperationCode.REDUCE_MIN)
                  .get(random.nextInt(4));
          int[] shape = shape(random);
          Quantization ofX = quantization(random, type, 0.1);
          int x = graph.input(type, ofX, shape);
          if (code == OperationCode.MAXIMUM || code == OperationCode.MINIMUM) {
            int y = graph.input(type, quantization(random, type, 0.1), shape[3]);
            Quantization ofResult = quantization(random, type, 0.15);
            graph.operation(code, List.of(x, y), graph.output(type, ofResult, shape));
            return new byte[][] {stored(random, shape), stored(random, shape[3])};
          }
          int first = random.nextInt(4);
          int end = first + 1 + random.nextInt(4 - first);
          int[] axes = IntStream.range(first, end).toArray();
          int[] kept = shape.clone();
          Arrays.fill(kept, first, end, 1);
          graph.operation(
              code,
              List.of(x, graph.int32Vector(axes), graph.bool(true)),
              graph.output(type, ofX, kept));
          return new byte[][] {stored(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void slopesOfAllEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int[] shape = shape(random);
          int x = graph.input(type, quantization(random, type, 0.1), shape);
          int slopes = random.nextBoolean() ? 1 : shape[3];
          int slope =
              graph.constant(
                  type, quantization(random, type, 0.01), stored(random, slopes), slopes);
          graph.operation(
              OperationCode.PRELU,
              List.of(x, slope),
              graph.output(type, quantization(random, type, 0.2), shape));
          return new byte[][] {stored(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void resizedImagesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int[] shape = shape(random);
          int[] resized = {shape[0], 1 + random.nextInt(9), 1 + random.nextInt(9), shape[3]};
          Quantization quantization = quantization(random, type, 0.1);
          boolean isAligned = random.nextInt(3) == 0;
          graph.operation(
              random.nextBoolean()
                  ? OperationCode.RESIZE_BILINEAR
                  : OperationCode.RESIZE_NEAREST_NEIGHBOR,
              List.of(
                  graph.input(type, quantization, shape),
                  graph.int32(resized[2]),
                  graph.int32(resized[1]),
                  graph.bool(false),
                  graph.bool(isAligned),
                  graph.bool(!isAligned && random.nextBoolean())),
              graph.output(type, quantization, resized));
          return new byte[][] {stored(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void functionsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          OperationCode code =
              List.of(
                      OperationCode.RELU,
                      OperationCode.RELU1,
                      OperationCode.RELU6,
                      OperationCode.LOGISTIC,
                      OperationCode.TANH,
                      OperationCode.HARD_SWISH)
                  .get(random.nextInt(6));
          int[] shape = shape(random);
          Quantization from = quantization(random, type, 0.1);
          int least = IntRange.of(type).min();
          Quantization to =
              switch (code) {
                case LOGISTIC -> Quantization.of(1f / 256, least);
                case TANH -> Quantization.of(1f / 128, least + 128);
                case HARD_SWISH -> {
                  // A scale of results below a 128th of the input's is not one of the operation.
                  Quantization drawn = quantization(random, type, 0.1);
                  float scale = Math.max(drawn.scale(), from.scale() / 64);
                  yield Quantization.of(scale, drawn.zeroPoint());
                }
                default -> from;
              };
          int input = graph.input(type, from, shape);
          graph.operation(code, List.of(input), graph.output(type, to, shape));
          return new byte[][] {stored(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void poolsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          OperationType code =
              random.nextBoolean()
                  ? TestGraph.anyRounding(random, OperationCode.AVERAGE_POOL_2D)
                  : OperationCode.MAX_POOL_2D;
          int[] shape = {
            1 + random.nextInt(2),
            4 + random.nextInt(6),
            4 + random.nextInt(6),
            1 + random.nextInt(70)
          };
          Quantization quantization = quantization(random, type, 0.05);
          int input = graph.input(type, quantization, shape);
          int width = 1 + random.nextInt(4);
          int height = 1 + random.nextInt(4);
          List<Integer> in = new ArrayList<>(List.of(input));
          int[] padding = new int[4];
          for (int i = 0; i < 4; i++) {
            padding[i] = random.nextInt(i < 2 ? width : height);
            in.add(graph.int32(padding[i]));
          }
          int strideX = 1 + random.nextInt(3);
          int strideY = 1 + random.nextInt(3);
          for (int number : new int[] {strideX, strideY, width, height, random.nextInt(4)}) {
            in.add(graph.int32(number));
          }
          int[] result = {
            shape[0],
            (shape[1] + padding[2] + padding[3] - height) / strideY + 1,
            (shape[2] + padding[0] + padding[1] - width) / strideX + 1,
            shape[3]
          };
          graph.operation(code, in, graph.output(type, quantization, result));
          return new byte[][] {stored(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void meansEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int[] shape = shape(random);
          Quantization quantization = quantization(random, type, 0.05);
          int input = graph.input(type, quantization, shape);
          int first = random.nextInt(4);
          int end = first + 1 + random.nextInt(4 - first);
          int[] axes = new int[end - first];
          int[] result = shape.clone();
          for (int i = first; i < end; i++) {
            axes[i - first] = random.nextBoolean() ? i : i - 4;
            result[i] = 1;
          }
          graph.operation(
              OperationCode.MEAN,
              List.of(input, graph.int32Vector(axes), graph.int32(1)),
              graph.output(type, quantization, result));
          return new byte[][] {stored(random, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void probabilitiesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int[] shape = {1 + random.nextInt(4), 1 + random.nextInt(300)};
          int input = graph.input(type, quantization(random, type, 0.05), shape);
          int output =
              graph.output(type, Quantization.of(1f / 256, IntRange.of(type).min()), shape);
          float beta = 0.1f + random.nextFloat() * 3;
          graph.operation(OperationCode.SOFTMAX, List.of(input, graph.float32(beta)), output);
          byte[] scores = stored(random, shape);
          if (random.nextInt(3) == 0) {
            // Scores near each other: small differences decide.
            for (int i = 0; i < scores.length; i++) {
              scores[i] &= 7;
            }
          }
          return new byte[][] {scores};
        });
  }

  @ParameterizedTest
  @EnumSource
  void scoresThatHardlyDifferHaveSmallProbabilities(Level level) throws Exception {
    try (X86Device device = Levels.device(level)) {
      EqualScores.check(device, ByteSoftmax.MOST);
    }
  }

  @ParameterizedTest
  @EnumSource
  void floatsAreStoredAsByTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int count = 1 + random.nextInt(70);
          Quantization quantization = quantization(random, type, 0.1);
          int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, count);
          graph.operation(
              TestGraph.anyRounding(random, OperationCode.QUANTIZE),
              List.of(input),
              graph.output(type, quantization, count));
          float[] values = new float[count];
          for (int i = 0; i < count; i++) {
            values[i] =
                switch (random.nextInt(8)) {
                  case 0 -> Float.intBitsToFloat(random.nextInt());
                  case 1 -> Float.NaN;
                  case 2 -> Float.POSITIVE_INFINITY;
                  case 3 -> -0f;
                  case 4 -> (random.nextInt(512) - 256 + 0.5f) * quantization.scale();
                  case 5 -> Math.nextDown((random.nextInt(256) + 0.5f) * quantization.scale());
                  default -> (random.nextFloat() - 0.5f) * 300 * quantization.scale();
                };
          }
          return new byte[][] {TestGraph.bytes(values)};
        });
  }

  @ParameterizedTest
  @EnumSource
  void movedBytesEqualTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int[] shape = shape(random);
          int[] result = shape.clone();
          Quantization quantization = quantization(random, type, 0.1);
          int input = graph.input(type, quantization, shape);
          byte[] bytes = stored(random, shape);
          switch (random.nextInt(5)) {
            case 0 -> {
              int axis = random.nextInt(4);
              int[] second = shape.clone();
              second[axis] = 1 + random.nextInt(9);
              result[axis] += second[axis];
              boolean isRescaled = random.nextBoolean();
              Quantization other = isRescaled ? quantization(random, type, 0.1) : quantization;
              int y = graph.input(type, other, second);
              int output = graph.output(type, quantization, result);
              List<Integer> in = List.of(input, y, graph.int32(axis));
              graph.operation(OperationCode.CONCATENATION, in, output);
              return new byte[][] {bytes, stored(random, second)};
            }
            case 1 -> {
              int[] paddings = new int[8];
              for (int i = 0; i < 8; i++) {
                paddings[i] = random.nextInt(3);
                result[i / 2] += paddings[i];
              }
              int constant =
                  graph.constant(TENSOR_INT32, Quantization.NONE, TestGraph.bytes(paddings), 4, 2);
              int output = graph.output(type, quantization, result);
              graph.operation(OperationCode.PAD, List.of(input, constant), output);
            }
            case 2 -> {
              List<Integer> axes = new ArrayList<>(List.of(0, 1, 2, 3));
              Collections.shuffle(axes, random);
              int[] order = axes.stream().mapToInt(axis -> axis).toArray();
              for (int i = 0; i < 4; i++) {
                result[i] = shape[order[i]];
              }
              int output = graph.output(type, quantization, result);
              graph.operation(
                  OperationCode.TRANSPOSE, List.of(input, graph.int32Vector(order)), output);
            }
            case 3 -> {
              int[] begin = new int[4];
              for (int i = 0; i < 4; i++) {
                begin[i] = random.nextInt(shape[i]);
                result[i] = 1 + random.nextInt(shape[i] - begin[i]);
              }
              int output = graph.output(type, quantization, result);
              graph.operation(
                  OperationCode.SLICE,
                  List.of(input, graph.int32Vector(begin), graph.int32Vector(result)),
                  output);
            }
            default -> {
              int[] strides = new int[4];
              for (int i = 0; i < 4; i++) {
                strides[i] = 1 + random.nextInt(3);
                result[i] = Math.ceilDiv(shape[i], strides[i]);
              }
              int output = graph.output(type, quantization, result);
              graph.operation(
                  OperationCode.STRIDED_SLICE,
                  List.of(
                      input,
                      graph.int32Vector(new int[4]),
                      graph.int32Vector(shape),
                      graph.int32Vector(strides),
                      graph.int32(0),
                      graph.int32(0),
                      graph.int32(0)),
                  output);
            }
          }
          return new byte[][] {bytes};
        });
  }

  @ParameterizedTest
  @EnumSource
  void storedBytesAreFloatsAsByTheReference(Level level) throws Exception {
    compare(
        level,
        (graph, random, type) -> {
          int count = 1 + random.nextInt(70);
          int input = graph.input(type, quantization(random, type, 0.1), count);
          graph.operation(
              OperationCode.DEQUANTIZE,
              List.of(input),
              graph.output(TENSOR_FLOAT32, Quantization.NONE, count));
          return new byte[][] {stored(random, count)};
        });
  }
}
