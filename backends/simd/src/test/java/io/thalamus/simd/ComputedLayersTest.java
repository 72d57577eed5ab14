// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Fully connected layers whose weights are computed, or their bias, against the formula. */
@Widths
class ComputedLayersTest {
  private final Seeded random = new Seeded(ComputedLayersTest.class);
  private final Twins simd = new Twins();

  @AfterEach
  void close() {
    simd.close();
  }

  @Test
  void layersAreThoseOfTheFormula() throws DeviceException {
    for (int round = 0; round < 80; round++) {
      int rows = random.pick(1, 2, 5, 99);
      int depth = random.pick(1, 7, 64, 99, 513, 1100);
      int units = random.pick(1, 8, 17, 64, 99, 300);
      int activation = random.pick(0, 1, 3);
      boolean isBiasComputed = random.nextBoolean();
      boolean areWeightsComputed = !isBiasComputed || random.nextBoolean();
      float[] data = random.floats(1, rows * depth);
      float[] weights = random.floats(1, units * depth);
      float[] bias = random.floats(1, units);
      try (TestGraph graph = new TestGraph()) {
        List<Integer> inputs =
            List.of(
                graph.input(TENSOR_FLOAT32, Quantization.NONE, rows, depth),
                operand(graph, areWeightsComputed, weights, units, depth),
                operand(graph, isBiasComputed, bias, units),
                graph.int32(activation));
        graph.operation(
            OperationCode.FULLY_CONNECTED,
            inputs,
            graph.output(TENSOR_FLOAT32, Quantization.NONE, rows, units));
        byte[][] arguments =
            new byte[1 + (areWeightsComputed ? 1 : 0) + (isBiasComputed ? 1 : 0)][];
        arguments[0] = TestGraph.bytes(data);
        if (areWeightsComputed) {
          arguments[1] = TestGraph.bytes(weights);
        }
        if (isBiasComputed) {
          arguments[arguments.length - 1] = TestGraph.bytes(bias);
        }
        String message = "round " + round;
        float[] got = TestGraph.floats(simd.run(graph.model(), message, arguments));
        for (int i = 0; i < got.length; i++) {
          double sum = bias[i % units];
          for (int k = 0; k < depth; k++) {
            sum += (double) data[i / units * depth + k] * weights[i % units * depth + k];
          }
          double least = activation == 0 ? Double.NEGATIVE_INFINITY : 0;
          double most = activation == 3 ? 6 : Double.POSITIVE_INFINITY;
          double wanted = Math.clamp(sum, least, most);
          assertEquals(wanted, got[i], 1e-6 * depth + 1e-6, message + ", element " + i);
        }
      }
    }
  }

  private static int operand(TestGraph graph, boolean isComputed, float[] values, int... shape) {
    return isComputed
        ? graph.input(TENSOR_FLOAT32, Quantization.NONE, shape)
        : graph.constant(TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(values), shape);
  }
}
