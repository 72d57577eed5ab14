// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.Quantization.NONE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.TestGraph;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * RESCALE, by results of TensorFlow Lite's definition, which were computed in integers of any size:
 * halves of the product go up, and those of the shift away from 0.
 */
class ExtensionRescaleTest {
  @ParameterizedTest
  @CsvSource({
    "-2147483648, 2147483647, 0, -2147483647",
    "2147483647, 2147483647, 0, 2147483646",
    "1, 1073741824, 0, 1",
    "-1, 1073741824, 0, 0",
    "3, 1073741824, 0, 2",
    "-3, 1073741824, 0, -1",
    "-5, 1073741824, 0, -2",
    "-2147483648, 0, 0, 0",
    "-2147483648, 2147483647, -1, -1073741824",
    "2147483647, 2147483647, -1, 1073741823",
    "1, 1073741824, -1, 1",
    "2, 1073741824, -1, 1",
    "-1, 1073741824, -1, 0",
    "-2, 1073741824, -1, -1",
    "-3, 1073741824, -1, -1",
    "-6, 1073741824, -1, -2",
    "6, 1073741824, -1, 2",
    "10, 1073741824, -2, 1",
    "-10, 1073741824, -2, -1",
    "100000, 1717986918, -3, 10000",
    "-100000, 1717986918, -3, -10000",
    "12345, 0, -5, 0",
    "-2147483647, 1073741824, -30, -1",
    "-2147483648, 2147483647, -31, -1",
    "2147483647, 2147483647, -31, 1",
    "-1073741825, 2147483647, -31, -1",
    "2147483647, 1073741824, -31, 1",
    "1, 1073741824, 5, 16",
    "-7, 1518500250, 5, -158",
    "7, 1518500250, 5, 158",
    "67108864, 1073741824, 5, -1073741824",
    "-67108865, 1073741824, 5, 1073741808",
    "123456789, 1518500250, 5, -243492254",
    "-2147483648, 1073741824, 5, 0",
    "3, 1073741824, 30, -536870912",
    "-1, 2147483647, 30, -1073741823"
  })
  void integersAreScaledToTheBit(int value, int multiplier, int shift, int expected)
      throws Exception {
    try (TestGraph graph = new TestGraph();
        CpuDevice cpu = new CpuDevice("1.0.0")) {
      graph.operation(
          ThalamusExtension.RESCALE,
          List.of(
              graph.input(TENSOR_INT32, NONE, 1, 2), graph.int32(multiplier), graph.int32(shift)),
          graph.output(TENSOR_INT32, NONE, 1, 2));
      byte[] result = TestGraph.run(cpu, graph.model(), TestGraph.bytes(0, value));
      assertArrayEquals(TestGraph.bytes(0, expected), result);
    }
  }

  /** Around zero points, and to the nearest number that the type of the output stores. */
  @ParameterizedTest
  @CsvSource({
    "TENSOR_INT32, 0, -1, TENSOR_QUANT8_ASYMM_SIGNED, -3, 0, -3",
    "TENSOR_INT32, 0, 259, TENSOR_QUANT8_ASYMM_SIGNED, -3, 0, 127",
    "TENSOR_INT32, 0, 258, TENSOR_QUANT8_ASYMM_SIGNED, -3, 0, 126",
    "TENSOR_INT32, 0, 2147483647, TENSOR_QUANT8_ASYMM_SIGNED, 127, 0, 127",
    "TENSOR_INT32, 0, -2147483648, TENSOR_QUANT8_ASYMM_SIGNED, -128, 0, -128",
    "TENSOR_INT32, 0, 2147483647, TENSOR_QUANT8_ASYMM, 255, 0, 255",
    "TENSOR_INT32, 0, -2147483648, TENSOR_QUANT8_ASYMM, 255, 0, 0",
    "TENSOR_INT32, 0, 65535, TENSOR_QUANT16_SYMM, 0, 0, 32767",
    "TENSOR_INT32, 0, -65538, TENSOR_QUANT16_SYMM, 0, 0, -32768",
    "TENSOR_INT32, 0, -65535, TENSOR_QUANT16_SYMM, 0, 0, -32767",
    "TENSOR_QUANT8_ASYMM, 128, 0, TENSOR_INT32, 0, 0, -64",
    "TENSOR_QUANT8_ASYMM, 0, 255, TENSOR_INT32, 0, 8, 32640",
    "TENSOR_QUANT8_ASYMM_SIGNED, -128, 127, TENSOR_QUANT16_SYMM, 0, 0, 128",
    "TENSOR_QUANT8_ASYMM_SIGNED, 127, -128, TENSOR_QUANT16_SYMM, 0, 0, -127",
    "TENSOR_QUANT16_SYMM, 0, -32768, TENSOR_QUANT8_ASYMM, 10, 1, 0",
    "TENSOR_QUANT16_SYMM, 0, 20, TENSOR_QUANT8_ASYMM, 10, 1, 30",
    "TENSOR_QUANT8_ASYMM, 200, 201, TENSOR_QUANT8_ASYMM_SIGNED, -100, 1, -99"
  })
  void otherTypesAreReadAndWritten(
      OperandCode from, int origin, int value, OperandCode to, int zeroPoint, int shift, int result)
      throws Exception {
    try (TestGraph graph = new TestGraph();
        CpuDevice cpu = new CpuDevice("1.0.0")) {
      graph.operation(
          ThalamusExtension.RESCALE,
          List.of(
              graph.input(from, quantization(from, origin), 1),
              graph.int32(1 << 30),
              graph.int32(shift)),
          graph.output(to, quantization(to, zeroPoint), 1));
      int size = Elements.of(from).size();
      byte[] data = Arrays.copyOf(TestGraph.bytes(value), size);
      assertArrayEquals(
          Arrays.copyOf(TestGraph.bytes(result), Elements.of(to).size()),
          TestGraph.run(cpu, graph.model(), data));
    }
  }

  private static Quantization quantization(OperandCode type, int zeroPoint) {
    return type == TENSOR_INT32 ? NONE : Quantization.of(0.1f, zeroPoint);
  }

  /** A factor may come with the request, and is checked then. */
  @Test
  void factorMayBeAnInput() throws Exception {
    try (TestGraph graph = new TestGraph();
        CpuDevice cpu = new CpuDevice("1.0.0")) {
      graph.operation(
          ThalamusExtension.RESCALE,
          List.of(graph.input(TENSOR_INT32, NONE, 2), graph.input(INT32, NONE), graph.int32(-1)),
          graph.output(TENSOR_INT32, NONE, 2));
      byte[] data = TestGraph.bytes(-6, 6);
      assertArrayEquals(
          TestGraph.bytes(-2, 2),
          TestGraph.run(cpu, graph.model(), data, TestGraph.bytes(1 << 30)));
      OutcomeException refused =
          assertThrows(
              OutcomeException.class,
              () -> TestGraph.run(cpu, graph.model(), data, TestGraph.bytes(1)));
      assertTrue(refused.getMessage().contains("2^30"), refused.getMessage());
    }
  }
}
