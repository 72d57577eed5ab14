// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.broadcast;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.halves;
import static io.thalamus.x86.RandomGraphs.one;
import static io.thalamus.x86.RandomGraphs.shape;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Operations of floats of 16 bits, and pools of roots of squares, against the reference. */
class HalfFloatsTest {
  /** The last bit of a number of 16 bits, twice. */
  private static final double LAST_BIT = 1e-3;

  /** Adds an operation of 16 bits, and the output of the graph: the same as 32 bits. */
  private static void add(TestGraph graph, OperationCode code, List<Integer> inputs, int... shape) {
    int halves = graph.temporary(TENSOR_FLOAT16, NONE, shape);
    graph.operation(code, inputs, halves);
    graph.operation(OperationCode.CAST, List.of(halves), graph.output(TENSOR_FLOAT32, NONE, shape));
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void functionsOfNumbersAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        LAST_BIT,
        (graph, random) -> {
          int[][] shapes = broadcast(random);
          if (random.nextBoolean()) {
            OperationCode code =
                one(
                    random,
                    List.of(
                        OperationCode.RELU6,
                        OperationCode.LOGISTIC,
                        OperationCode.TANH,
                        OperationCode.ABS));
            int input = graph.input(TENSOR_FLOAT16, NONE, shapes[0]);
            add(graph, code, List.of(input), shapes[0]);
            return new byte[][] {halves(random, shapes[0])};
          }
          OperationCode code =
              one(random, List.of(OperationCode.ADD, OperationCode.SUB, OperationCode.MUL));
          boolean isConstant = random.nextBoolean();
          int x = graph.input(TENSOR_FLOAT16, NONE, shapes[0]);
          int y =
              isConstant
                  ? graph.constant(TENSOR_FLOAT16, NONE, halves(random, shapes[1]), shapes[1])
                  : graph.input(TENSOR_FLOAT16, NONE, shapes[1]);
          add(graph, code, List.of(x, y, graph.int32(random.nextInt(4))), shapes[2]);
          return isConstant
              ? new byte[][] {halves(random, shapes[0])}
              : new byte[][] {halves(random, shapes[0]), halves(random, shapes[1])};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void layersAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        LAST_BIT,
        (graph, random) -> {
          int batches = 1 + random.nextInt(3);
          int size = 1 + random.nextInt(20);
          int units = 1 + random.nextInt(50);
          int input = graph.input(TENSOR_FLOAT16, NONE, batches, size);
          add(
              graph,
              OperationCode.FULLY_CONNECTED,
              List.of(
                  input,
                  graph.constant(TENSOR_FLOAT16, NONE, halves(random, units, size), units, size),
                  graph.constant(TENSOR_FLOAT16, NONE, halves(random, units), units),
                  graph.int32(random.nextInt(2) * 3)),
              batches,
              units);
          // Sums of hundreds fit.
          byte[] small = new byte[2 * batches * size];
          for (int i = 0; i < small.length; i += 2) {
            short half = Float.floatToFloat16(random.nextFloat() - 0.5f);
            small[i] = (byte) half;
            small[i + 1] = (byte) (half >> 8);
          }
          return new byte[][] {small};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void poolsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        LAST_BIT,
        (graph, random) -> {
          OperandCode type = random.nextBoolean() ? TENSOR_FLOAT16 : TENSOR_FLOAT32;
          OperationCode code =
              one(
                  random,
                  List.of(
                      OperationCode.L2_POOL_2D,
                      OperationCode.L2_POOL_2D,
                      OperationCode.AVERAGE_POOL_2D,
                      OperationCode.MAX_POOL_2D));
          int[] shape = shape(random);
          int strideX = 1 + random.nextInt(2);
          int strideY = 1 + random.nextInt(2);
          int[] result = {
            shape[0], Math.ceilDiv(shape[1], strideY), Math.ceilDiv(shape[2], strideX), shape[3]
          };
          List<Integer> inputs =
              List.of(
                  graph.input(type, NONE, shape),
                  graph.int32(1),
                  graph.int32(strideX),
                  graph.int32(strideY),
                  graph.int32(1 + random.nextInt(3)),
                  graph.int32(1 + random.nextInt(3)),
                  graph.int32(random.nextInt(4)));
          if (type == TENSOR_FLOAT16) {
            add(graph, code, inputs, result);
          } else {
            graph.operation(code, inputs, graph.output(TENSOR_FLOAT32, NONE, result));
          }
          return new byte[][] {values(type, random, shape)};
        });
  }

  private static byte[] values(OperandCode type, Random random, int... shape) {
    return type == TENSOR_FLOAT16 ? halves(random, shape) : floats(random, 5, shape);
  }
}
