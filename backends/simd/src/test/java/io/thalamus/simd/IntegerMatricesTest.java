// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Products of matrices of integers with few columns and with more, by the formula. */
@Widths
class IntegerMatricesTest {
  private static final int ROUNDS = 250;

  private final Seeded random = new Seeded(IntegerMatricesTest.class);

  private static int[] shape(int batch, int rows, int columns, boolean isTurned) {
    return new int[] {batch, isTurned ? columns : rows, isTurned ? rows : columns};
  }

  private static int at(int batch, int row, int column, int[] shape, boolean isTurned) {
    return (batch * shape[1] + (isTurned ? column : row)) * shape[2] + (isTurned ? row : column);
  }

  @Test
  void followTheFormula() throws DeviceException {
    try (Twins simd = new Twins()) {
      for (int round = 0; round < ROUNDS; round++) {
        int batch = random.pick(1, 2, 7, 64);
        int rows = random.pick(1, 1, 3, 10);
        int inner = random.pick(1, 2, 7, 8, 33, 200);
        int columns = random.pick(1, 1, 2, 3, 5, 8, 17);
        boolean isLeftTurned = random.nextBoolean();
        boolean isRightTurned = random.nextBoolean();
        int[] first = shape(batch, rows, inner, isLeftTurned);
        int[] second = shape(random.pick(1, batch), inner, columns, isRightTurned);
        // Some sums keep their low bits only.
        int fewer = random.pick(0, 20);
        int[] a = random.ints(batch * rows * inner).map(x -> x >> fewer).toArray();
        int[] b = random.ints(second[0] * inner * columns).map(x -> x >> fewer).toArray();
        int[] expected = new int[batch * rows * columns];
        for (int i = 0; i < expected.length; i++) {
          int matrix = i / columns / rows;
          for (int k = 0; k < inner; k++) {
            expected[i] +=
                a[at(matrix, i / columns % rows, k, first, isLeftTurned)]
                    * b[at(matrix % second[0], k, i % columns, second, isRightTurned)];
          }
        }
        try (TestGraph graph = new TestGraph()) {
          graph.operation(
              ThalamusExtension.BATCH_MATMUL,
              List.of(
                  graph.input(TENSOR_INT32, Quantization.NONE, first),
                  graph.input(TENSOR_INT32, Quantization.NONE, second),
                  graph.bool(isLeftTurned),
                  graph.bool(isRightTurned)),
              graph.output(TENSOR_INT32, Quantization.NONE, batch, rows, columns));
          String message = "round " + round;
          byte[] found = simd.run(graph.model(), message, TestGraph.bytes(a), TestGraph.bytes(b));
          TestGraph.assertSame(TestGraph.bytes(expected), found, message);
        }
      }
    }
  }
}
