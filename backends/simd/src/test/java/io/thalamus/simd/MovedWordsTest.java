// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Integers of 16 bits in another order, against the reference. */
class MovedWordsTest {
  private static final Quantization SCALE = Quantization.of(0.25f, 0);

  private final Seeded random = new Seeded(MovedWordsTest.class);

  @Test
  void areTheReferences() throws Exception {
    try (CpuDevice cpu = new CpuDevice("1.0.0");
        Twins simd = new Twins()) {
      for (int round = 0; round < 60; round++) {
        int rows = random.pick(1, 2, 5);
        int columns = random.pick(1, 3, 16, 70);
        byte[] data =
            Arrays.copyOf(
                TestGraph.bytes(random.ints(rows * columns).toArray()), 2 * rows * columns);
        try (TestGraph graph = new TestGraph()) {
          int x = graph.input(TENSOR_QUANT16_SYMM, SCALE, rows, columns);
          int turned = graph.temporary(TENSOR_QUANT16_SYMM, SCALE, columns, rows);
          int reversed = graph.temporary(TENSOR_QUANT16_SYMM, SCALE, columns, rows);
          graph.operation(
              ThalamusExtension.AS_STRIDED,
              List.of(x, ints(graph, columns, rows), ints(graph, 1, columns), graph.int32(0)),
              turned);
          graph.operation(ThalamusExtension.REVERSE, List.of(turned, ints(graph, 0)), reversed);
          graph.operation(
              ThalamusExtension.CONCATENATION,
              List.of(turned, reversed, graph.int32(1)),
              graph.output(TENSOR_QUANT16_SYMM, SCALE, columns, 2 * rows));
          String message = "round %d: %d x %d".formatted(round, rows, columns);
          byte[] expected = TestGraph.run(cpu, graph.model(), data);
          TestGraph.assertSame(expected, simd.run(graph.model(), message, data), message);
        }
      }
    }
  }

  private static int ints(TestGraph graph, int... values) {
    return graph.constant(TENSOR_INT32, Quantization.NONE, TestGraph.bytes(values), values.length);
  }
}
