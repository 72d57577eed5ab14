// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExampleEncoderTest {
  /** The graphs come back as they were, whatever the place of their constants. */
  @ParameterizedTest
  @ValueSource(strings = {"add_float", "add_float_large_constant", "add_zero_sized", "sub_quant8"})
  void isTheWayBackOfDecoding(String name) throws Exception {
    Example example = Cases.example(name);
    Example again;
    try (DecodedExample decoded = example.decode()) {
      again =
          Example.of(
              name,
              decoded.model(),
              decoded.inputs().stream().map(input -> MemorySegment.ofArray(input.bytes())).toList(),
              decoded.outputs().stream()
                  .map(
                      output ->
                          new Example.Result(
                              output.operand().shape(), MemorySegment.ofArray(output.bytes())))
                  .toList());
    }
    assertEquals(example.main().operations(), again.main().operations());
    try (DecodedExample first = example.decode();
        DecodedExample second = again.decode()) {
      for (int i = 0; i < first.inputs().size(); i++) {
        assertEquals(
            MemorySegment.ofArray(first.inputs().get(i).bytes())
                .mismatch(MemorySegment.ofArray(second.inputs().get(i).bytes())),
            -1);
      }
      for (int i = 0; i < example.main().operands().size(); i++) {
        assertEquals(
            first.model().main().operands().get(i).quantization(),
            second.model().main().operands().get(i).quantization());
        assertEquals(
            example.main().operands().get(i).consumers(),
            again.main().operands().get(i).consumers());
        assertEquals(
            example.main().operands().get(i).dims(), again.main().operands().get(i).dims());
      }
    }
  }

  @Test
  void keepsSubgraphs() throws Exception {
    Example loop = Cases.example("while_forever");
    try (DecodedExample decoded = loop.decode()) {
      Example again =
          Example.of(
              "again",
              decoded.model(),
              List.of(MemorySegment.ofArray(new byte[] {1})),
              List.of(new Example.Result(Shape.of(1), MemorySegment.ofArray(new byte[] {1}))));
      assertEquals(loop.main(), again.main());
      assertEquals(loop.referenced(), again.referenced());
      assertTrue(again.isRelaxed());
    }
  }

  @Test
  void keepsExtensionsAndChannelScalesAndFillsOpenShapes() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    Quantization scales = new Quantization.PerChannel(0, new float[] {0.1f, 3});
    int input = graph.input("x", OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, Shape.of(2), scales);
    int output = graph.output("y", OperandCode.TENSOR_FLOAT16, Shape.of(0), Quantization.NONE);
    ExtensionOperationType type = new ExtensionOperationType("com.example", 3, "TWIST");
    graph.operation(type, List.of(input), List.of(output));
    Model model = Model.of(graph.build());

    Example example =
        Example.of(
            "own",
            model,
            List.of(MemorySegment.ofArray(new byte[] {-1, 5})),
            List.of(new Example.Result(Shape.of(1), MemorySegment.ofArray(new byte[] {0, 0x3C}))));

    assertEquals(Values.of(-1, 5), example.inputs().getFirst().values());
    assertEquals(Values.of(1), example.expectedOutputs().getFirst().values());
    VectorFile file = new VectorFile("own", "own", Optional.empty(), List.of(example));
    String text = VectorFileWriter.text(file);
    assertTrue(text.contains("{\"channelDim\": 0, \"scales\": [0.1,3]}"), text);
    Example read = VectorFileReader.read(text.getBytes()).examples().getFirst();
    try (DecodedExample decoded = read.decode()) {
      assertEquals(type, decoded.model().main().operations().getFirst().type());
      assertEquals(scales, decoded.model().main().input(0).quantization());
      assertEquals(Shape.of(1), decoded.model().main().output(0).shape());
    }
    assertThrows(
        IllegalArgumentException.class, () -> Example.of("own", model, List.of(), List.of()));
  }
}
