// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.ints;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.thalamus.model.OperationCode;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Products with weights that are computed, or given, against the reference. */
class ProductsTest {
  /** Adds an input or a constant of random floats. */
  private static int tensor(
      TestGraph graph, boolean isConstant, List<byte[]> inputs, Random random, int... shape) {
    byte[] values = floats(random, 1, shape);
    if (isConstant) {
      return graph.constant(TENSOR_FLOAT32, NONE, values, shape);
    }
    inputs.add(values);
    return graph.input(TENSOR_FLOAT32, NONE, shape);
  }

  private static int[] matrix(int[] batch, boolean isTransposed, int rows, int columns) {
    int[] shape = new int[batch.length + 2];
    System.arraycopy(batch, 0, shape, 0, batch.length);
    shape[batch.length] = isTransposed ? columns : rows;
    shape[batch.length + 1] = isTransposed ? rows : columns;
    return shape;
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void productsOfMatricesAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          int[] first = new int[random.nextInt(3)];
          int[] second = new int[first.length];
          int[] both = new int[first.length];
          for (int i = 0; i < first.length; i++) {
            both[i] = 1 + random.nextInt(3);
            first[i] = random.nextInt(4) == 0 ? 1 : both[i];
            second[i] = first[i] == 1 || random.nextInt(3) > 0 ? both[i] : 1;
          }
          int rows = 1 + random.nextInt(40);
          int inner = 1 + random.nextInt(40);
          int columns = 1 + random.nextInt(70);
          boolean isFirst = random.nextBoolean();
          boolean isSecond = random.nextBoolean();
          List<byte[]> inputs = new ArrayList<>();
          int x = tensor(graph, false, inputs, random, matrix(first, isFirst, rows, inner));
          int y =
              tensor(
                  graph,
                  random.nextInt(3) == 0,
                  inputs,
                  random,
                  matrix(second, isSecond, inner, columns));
          graph.operation(
              ThalamusExtension.BATCH_MATMUL,
              List.of(x, y, graph.bool(isFirst), graph.bool(isSecond)),
              graph.output(TENSOR_FLOAT32, NONE, matrix(both, false, rows, columns)));
          return inputs.toArray(byte[][]::new);
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void productsOfIntegersEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          boolean areDots = random.nextInt(3) == 0;
          int rows = areDots ? 1 : 1 + random.nextInt(5);
          int inner = 1 + random.nextInt(9);
          int columns = areDots ? 1 : 1 + random.nextInt(40);
          int batches = 1 + random.nextInt(areDots ? 50 : 3);
          boolean isTransposed = random.nextBoolean();
          int[] first = matrix(new int[] {batches}, isTransposed, rows, inner);
          int[] second = {random.nextBoolean() ? 1 : batches, inner, columns};
          graph.operation(
              ThalamusExtension.BATCH_MATMUL,
              List.of(
                  graph.input(TENSOR_INT32, NONE, first),
                  graph.input(TENSOR_INT32, NONE, second),
                  graph.bool(isTransposed),
                  graph.bool(false)),
              graph.output(TENSOR_INT32, NONE, batches, rows, columns));
          return new byte[][] {ints(random, first), ints(random, second)};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void layersWithComputedWeightsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          int rows = 1 + random.nextInt(30);
          int inner = 1 + random.nextInt(50);
          int units = 1 + random.nextInt(70);
          List<byte[]> inputs = new ArrayList<>();
          int x = tensor(graph, false, inputs, random, rows, inner);
          int weights = tensor(graph, random.nextBoolean(), inputs, random, units, inner);
          int bias = tensor(graph, random.nextBoolean(), inputs, random, units);
          graph.operation(
              OperationCode.FULLY_CONNECTED,
              List.of(x, weights, bias, graph.int32(random.nextInt(4))),
              graph.output(TENSOR_FLOAT32, NONE, rows, units));
          return inputs.toArray(byte[][]::new);
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void convolutionsWithComputedWeightsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        // Both round sums of up to a thousand products: either was seen to be wrong by 4e-5.
        1e-4,
        (graph, random) -> {
          WindowShape shape = new WindowShape(random, random.nextInt(4) == 0 ? 20 : 5);
          int channels = 1 + random.nextInt(9);
          boolean isDepthwise = random.nextBoolean();
          int results = isDepthwise ? channels * (1 + random.nextInt(3)) : 1 + random.nextInt(50);
          int[] filter = {
            isDepthwise ? 1 : results,
            shape.sizes[0],
            shape.sizes[1],
            isDepthwise ? results : channels
          };
          List<byte[]> inputs = new ArrayList<>();
          int x = tensor(graph, false, inputs, random, 2, shape.cells[0], shape.cells[1], channels);
          int weights = tensor(graph, random.nextBoolean(), inputs, random, filter);
          int bias = tensor(graph, random.nextBoolean(), inputs, random, results);
          graph.operation(
              isDepthwise ? OperationCode.DEPTHWISE_CONV_2D : OperationCode.CONV_2D,
              shape.inputs(
                  graph,
                  List.of(x, weights, bias),
                  isDepthwise ? results / channels : 0,
                  random.nextInt(4)),
              graph.output(TENSOR_FLOAT32, NONE, 2, shape.results[0], shape.results[1], results));
          return inputs.toArray(byte[][]::new);
        });
  }

  /** Weights that were bytes, with a factor of the layer or of each unit, by few rows and many. */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void layersOfStoredWeightsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          int rows = 1 + random.nextInt(4);
          int inner = 90 + random.nextInt(60);
          int units = 100 + random.nextInt(100);
          boolean isOfLayer = random.nextBoolean();
          float factor = 0.001f + random.nextFloat() / 1000;
          float[] weights = new float[units * inner];
          for (int i = 0; i < weights.length; i++) {
            // The first of a unit is the largest that a byte holds.
            int stored = i % inner == 0 ? 127 : random.nextInt(255) - 127;
            weights[i] = stored * (isOfLayer ? factor : factor * (1 + i / inner % 7));
          }
          graph.operation(
              OperationCode.FULLY_CONNECTED,
              List.of(
                  graph.input(TENSOR_FLOAT32, NONE, rows, inner),
                  graph.constant(TENSOR_FLOAT32, NONE, TestGraph.bytes(weights), units, inner),
                  graph.constant(TENSOR_FLOAT32, NONE, floats(random, 1, units), units),
                  graph.int32(random.nextInt(4))),
              graph.output(TENSOR_FLOAT32, NONE, rows, units));
          return new byte[][] {floats(random, 1, rows, inner)};
        });
  }

  /**
   * Units of the same weights differ in no bit, wherever their panels end: a softmax of large
   * numbers would make two answers of one.
   */
  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void equalUnitsHaveEqualResults(Level level) throws Exception {
    Levels.assume(level);
    Random random = new Random(1);
    try (X86Device device = Levels.device(level)) {
      for (int units = 1; units < 200; units += 1 + units / 16) {
        int inner = 16 + random.nextInt(700);
        byte[] row = floats(random, 1, inner);
        byte[] weights = new byte[units * row.length];
        try (TestGraph graph = new TestGraph()) {
          for (int unit = 0; unit < units; unit++) {
            System.arraycopy(row, 0, weights, unit * row.length, row.length);
          }
          graph.operation(
              OperationCode.FULLY_CONNECTED,
              List.of(
                  graph.input(TENSOR_FLOAT32, NONE, 1, inner),
                  graph.constant(TENSOR_FLOAT32, NONE, weights, units, inner),
                  graph.constant(TENSOR_FLOAT32, NONE, new byte[units * Float.BYTES], units),
                  graph.int32(0)),
              graph.output(TENSOR_FLOAT32, NONE, 1, units));
          byte[] result = TestGraph.run(device, graph.model(), floats(random, 1, inner));
          float[] found = TestGraph.floats(result);
          float[] same = new float[units];
          Arrays.fill(same, found[0]);
          assertArrayEquals(same, found, units + " units of " + inner);
        }
      }
    }
  }
}
