// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.floats;

import io.thalamus.model.OperationCode;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Transposed and grouped convolutions against the reference. */
class SpreadConvolutionTest {
  private static int constant(TestGraph graph, Random random, int... shape) {
    return graph.constant(TENSOR_FLOAT32, NONE, floats(random, 1, shape), shape);
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void transposedConvolutionsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          SpreadShape spread = new SpreadShape(random);
          int batches = 1 + random.nextInt(2);
          int channels = 1 + random.nextInt(9);
          int filters = 1 + random.nextInt(40);
          int[] shape = {batches, spread.cells[0], spread.cells[1], channels};
          graph.operation(
              OperationCode.TRANSPOSE_CONV_2D,
              List.of(
                  graph.input(TENSOR_FLOAT32, NONE, shape),
                  constant(graph, random, filters, spread.sizes[0], spread.sizes[1], channels),
                  constant(graph, random, filters),
                  graph.int32(spread.padding[2]),
                  graph.int32(spread.padding[3]),
                  graph.int32(spread.padding[0]),
                  graph.int32(spread.padding[1]),
                  graph.int32(spread.strides[1]),
                  graph.int32(spread.strides[0]),
                  graph.int32(random.nextInt(4)),
                  graph.bool(false)),
              graph.output(
                  TENSOR_FLOAT32, NONE, batches, spread.results[0], spread.results[1], filters));
          return new byte[][] {floats(random, 1, shape)};
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void groupedConvolutionsAreNearTheReference(Level level) throws Exception {
    compare(
        level,
        1e-5,
        (graph, random) -> {
          int batches = 1 + random.nextInt(2);
          int height = 3 + random.nextInt(5);
          int width = 3 + random.nextInt(20);
          int groups = 1 + random.nextInt(4);
          int run = 1 + random.nextInt(5);
          int filters = groups * (1 + random.nextInt(20));
          int side = 1 + random.nextInt(3);
          int stride = 1 + random.nextInt(2);
          int[] shape = {batches, height, width, groups * run};
          graph.operation(
              OperationCode.GROUPED_CONV_2D,
              List.of(
                  graph.input(TENSOR_FLOAT32, NONE, shape),
                  constant(graph, random, filters, side, side, run),
                  constant(graph, random, filters),
                  graph.int32(1),
                  graph.int32(stride),
                  graph.int32(stride),
                  graph.int32(groups),
                  graph.int32(random.nextInt(4)),
                  graph.bool(false)),
              graph.output(
                  TENSOR_FLOAT32,
                  NONE,
                  batches,
                  Math.ceilDiv(height, stride),
                  Math.ceilDiv(width, stride),
                  filters));
          return new byte[][] {floats(random, 1, shape)};
        });
  }
}
