// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.WideTypes;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.OutcomeException;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The extension's CAST, by what Java's own casts make of each number. */
class ExtensionCastTest {
  @ParameterizedTest
  @CsvSource({
    "TENSOR_INT64, TENSOR_INT32, -5, -5",
    "TENSOR_INT64, TENSOR_INT32, 2147483647, 2147483647",
    "TENSOR_INT64, TENSOR_INT32, -2147483648, -2147483648",
    "TENSOR_INT32, TENSOR_INT64, -2147483648, -2147483648",
    "TENSOR_FLOAT64, TENSOR_FLOAT32, 0.1, 0.10000000149011612",
    "TENSOR_FLOAT32, TENSOR_FLOAT64, 0.5, 0.5",
    "TENSOR_FLOAT32, TENSOR_INT64, -2.75, -2",
    "TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED, 300, 127",
    "TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, -3, 0",
    "TENSOR_FLOAT32, TENSOR_QUANT16_SYMM, -1.9, -1",
    "TENSOR_INT32, TENSOR_QUANT8_ASYMM_SIGNED, 200, -56",
    "TENSOR_INT32, TENSOR_QUANT16_SYMM, 65537, 1",
    "TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT32, -7, -7",
    "TENSOR_QUANT16_SYMM, TENSOR_INT32, -300, -300",
    "TENSOR_QUANT16_ASYMM, TENSOR_INT32, 65535, 65535",
    "TENSOR_INT32, TENSOR_QUANT16_ASYMM, -1, 65535",
    "TENSOR_BOOL8, TENSOR_FLOAT32, 1, 1",
    "TENSOR_BOOL8, TENSOR_INT32, 0, 0"
  })
  void numbersOfOneTypeBecomeThoseOfAnother(String from, String to, double number, double expected)
      throws Exception {
    byte[] result = run(type(from), type(to), number);
    assertEquals(expected, Elements.of(type(to)).getDouble(MemorySegment.ofArray(result), 0));
  }

  @ParameterizedTest
  @ValueSource(doubles = {2147483648.0, -2147483649.0, 5e9})
  void integersBeyond32BitsAreRefused(double number) {
    OutcomeException refused =
        assertThrows(
            OutcomeException.class,
            () -> run(WideTypes.TENSOR_INT64, OperandCode.TENSOR_INT32, number));
    assertTrue(refused.getMessage().contains("beyond 32 bits"), refused.getMessage());
  }

  private static byte[] run(OperandType from, OperandType to, double number) throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = operand(graph, from, Lifetime.SUBGRAPH_INPUT);
    int output = operand(graph, to, Lifetime.SUBGRAPH_OUTPUT);
    graph.operation(ThalamusExtension.CAST, List.of(input), List.of(output));
    Model model = Model.of(graph.build(List.of(input), List.of(output)));
    byte[] bytes = new byte[from.elementSize()];
    Elements.of(from).setDouble(MemorySegment.ofArray(bytes), 0, number);
    return TestGraph.run(new CpuDevice("1.0.0"), model, bytes);
  }

  private static int operand(SubgraphBuilder graph, OperandType type, Lifetime lifetime) {
    boolean isQuantized = type.text().contains("QUANT");
    Quantization quantization = isQuantized ? Quantization.of(1, 0) : Quantization.NONE;
    return graph.operand(new Operand(type, Shape.of(1), quantization, lifetime, ""));
  }

  private static OperandType type(String name) {
    return WideTypes.all().stream()
        .filter(type -> type.name().equals(name))
        .map(OperandType.class::cast)
        .findFirst()
        .orElseGet(() -> OperandCode.valueOf(name));
  }
}
