// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.FlatMeans;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Sums of rows as wide as some vectors, and a little wider or narrower, by the formula. */
@Widths
class SumsTest {
  private static final int[] COLUMNS = {2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 64, 70};
  private static final int[] ROWS = {1, 2, 5, 50};

  @Test
  void followTheFormula() throws DeviceException {
    Seeded random = new Seeded(SumsTest.class);
    try (Twins simd = new Twins()) {
      for (int columns : COLUMNS) {
        for (int rows : ROWS) {
          float[] values = random.floats(1, 3 * rows * columns);
          check(simd, values, rows, columns);
        }
      }
    }
  }

  @Test
  void flatImagesHaveTheirMeans() throws DeviceException {
    for (WarmUp.Stage stage : List.of(WarmUp.Stage.ALWAYS_WARM, WarmUp.Stage.ALWAYS_COLD)) {
      try (SimdDevice device = Twins.device("simd", stage)) {
        FlatMeans.checkMeans(device);
      }
    }
  }

  private static void check(Twins simd, float[] values, int rows, int columns)
      throws DeviceException {
    try (TestGraph graph = new TestGraph()) {
      graph.operation(
          OperationCode.REDUCE_SUM,
          List.of(
              graph.input(TENSOR_FLOAT32, Quantization.NONE, 3, rows, columns),
              graph.constant(TENSOR_INT32, Quantization.NONE, TestGraph.bytes(1), 1),
              graph.constant(BOOL, Quantization.NONE, new byte[1])),
          graph.output(TENSOR_FLOAT32, Quantization.NONE, 3, columns));
      String name = rows + "x" + columns;
      float[] got = TestGraph.floats(simd.run(graph.model(), name, TestGraph.bytes(values)));
      for (int i = 0; i < got.length; i++) {
        double wanted = 0;
        for (int row = 0; row < rows; row++) {
          wanted += values[(i / columns * rows + row) * columns + i % columns];
        }
        assertEquals(wanted, got[i], 1e-6 * rows, name + ", element " + i);
      }
    }
  }
}
