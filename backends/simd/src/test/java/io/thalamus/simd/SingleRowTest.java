// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.FusedActivation;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Dense layers of one row: of so many results that threads divide them, of so few that their sums
 * are divided, and of so many inputs that their sums have parts. 8-bit ones, whose weights are
 * bytes, as the reference; floats by the formula in double.
 */
@Widths
class SingleRowTest {
  private static final int[] UNITS = {1, 2, 4, 5, 31, 64, 90, 120, 150, 177, 208, 250, 300};
  private static final int[] SIZES = {7, 512, 1100, 2300};
  private static final int[] FEW_UNITS = {1, 8, 15, 17, 32, 33, 49, 63, 65, 81, 130};
  private static final int[] FEW_INPUTS = {1, 2, 3, 4, 6, 511, 515, 1026};

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

  @Test
  void floatsFollowTheFormula() throws DeviceException {
    Seeded random = new Seeded(SingleRowTest.class);
    try (Twins simd = new Twins()) {
      for (int units : FEW_UNITS) {
        for (int size : FEW_INPUTS) {
          checkFloats(simd, random, units, size);
        }
      }
    }
  }

  private static void checkFloats(Twins simd, Seeded random, int units, int size)
      throws DeviceException {
    float[] weights = random.floats(1, units * size);
    float[] values = random.floats(1, size);
    float[] bias = random.floats(1, units);
    System.arraycopy(weights, 0, weights, (units - 1) * size, size);
    bias[units - 1] = bias[0];
    try (TestGraph graph = new TestGraph()) {
      graph.operation(
          OperationCode.FULLY_CONNECTED,
          List.of(
              graph.input(TENSOR_FLOAT32, Quantization.NONE, 1, size),
              graph.constant(
                  TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(weights), units, size),
              graph.constant(TENSOR_FLOAT32, Quantization.NONE, TestGraph.bytes(bias), units),
              graph.int32(FusedActivation.RELU.code())),
          graph.output(TENSOR_FLOAT32, Quantization.NONE, 1, units));
      String name = size + "x" + units;
      float[] got = TestGraph.floats(simd.run(graph.model(), name, TestGraph.bytes(values)));
      assertEquals(got[0], got[units - 1], name + ": equal columns");
      for (int unit = 0; unit < units; unit++) {
        double wanted = bias[unit];
        double magnitude = Math.abs(wanted);
        for (int i = 0; i < size; i++) {
          double product = (double) values[i] * weights[unit * size + i];
          wanted += product;
          magnitude += Math.abs(product);
        }
        assertEquals(Math.max(0, wanted), got[unit], 1e-6 * magnitude, name + ", unit " + unit);
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
