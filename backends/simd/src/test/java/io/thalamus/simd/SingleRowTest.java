// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Dense 8-bit layers of one row, whose weights are bytes: of so many results that threads divide
 * them, and of so many inputs that their sums have parts.
 */
@Tag("widths")
class SingleRowTest {
  private static final int[] UNITS = {31, 64, 90, 120, 150, 177, 208, 250, 300};
  private static final int[] SIZES = {7, 512, 1100, 2300};

  @Test
  void equalsTheReference() throws DeviceException {
    Seeded random = new Seeded(SingleRowTest.class);
    try (Twins simd = new Twins()) {
      for (int units : UNITS) {
        for (int size : SIZES) {
          check(simd, random, TENSOR_QUANT8_ASYMM, units, size);
          check(simd, random, TENSOR_QUANT8_ASYMM_SIGNED, units, size);
        }
      }
    }
  }

  private static void check(Twins simd, Seeded random, OperandCode type, int units, int size)
      throws DeviceException {
    int middle = type == TENSOR_QUANT8_ASYMM ? 128 : 0;
    byte[] weights = new byte[units * size];
    byte[] values = new byte[size];
    random.nextBytes(weights);
    random.nextBytes(values);
    int[] bias = random.ints(units, -20_000, 20_000).toArray();
    Quantization in = Quantization.of(0.5f, middle + random.nextInt(21) - 10);
    Quantization filter = Quantization.of(0.5f, middle);
    Quantization out = Quantization.of((float) (0.25 * 90 * Math.sqrt(size)), middle);
    try (TestGraph graph = new TestGraph()) {
      graph.operation(
          OperationCode.FULLY_CONNECTED,
          List.of(
              graph.input(type, in, 1, size),
              graph.constant(type, filter, weights, units, size),
              graph.constant(TENSOR_INT32, Quantization.of(0.25f, 0), TestGraph.bytes(bias), units),
              graph.int32(0)),
          graph.output(type, out, 1, units));
      String name = type + " " + size + "x" + units;
      byte[] expected = TestGraph.run(new CpuDevice("1.0.0"), graph.model(), values);
      TestGraph.assertSame(expected, simd.run(graph.model(), name, values), name);
    }
  }
}
