// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static io.thalamus.model.LittleEndian.FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Elements;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.vectors.RawOperand.ChannelQuant;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DecodeTest {
  private static Example with(int operand, UnaryOperator<RawOperand> change) throws Exception {
    Example example = Cases.addFloat();
    RawSubgraph main = example.main();
    return example.withMain(main.withOperand(operand, change.apply(main.operands().get(operand))));
  }

  private static void refused(Example example, String reason) {
    VectorFormatException e = assertThrows(VectorFormatException.class, example::decode);
    assertTrue(e.getMessage().contains(reason), e.getMessage());
    assertEquals(ErrorStatus.INVALID_ARGUMENT, e.status());
  }

  @Test
  void makesTypedObjects() throws Exception {
    try (DecodedExample example = Cases.addFloat().decode()) {
      var main = example.model().main();
      assertEquals(OperationCode.ADD, main.operations().getFirst().type());
      assertEquals(OperandCode.TENSOR_FLOAT32, main.input(0).type());
      assertEquals(Shape.of(2, 3), main.output(0).shape());
      assertEquals(Lifetime.SUBGRAPH_OUTPUT, main.output(0).lifetime());
      assertArrayEquals(
          new byte[] {0, 0, 0, 0},
          assertInstanceOf(Lifetime.ConstantCopy.class, main.operands().get(2).lifetime()).value());
      assertEquals(6 * 4, example.inputs().getFirst().bytes().length);
      assertEquals(
          303f, MemorySegment.ofArray(example.outputs().getFirst().bytes()).get(FLOAT, 2 * 4));
      assertTrue(example.pool().isEmpty());
    }
  }

  @Test
  void putsLargeAndReferredConstantsInOneAlignedPool() throws Exception {
    try (DecodedExample example = Cases.example("add_float_large_constant").decode()) {
      var operands = example.model().main().operands();
      var small = assertInstanceOf(Lifetime.ConstantReference.class, operands.get(0).lifetime());
      var large = assertInstanceOf(Lifetime.ConstantReference.class, operands.get(2).lifetime());
      assertEquals(List.of(example.pool().orElseThrow()), example.model().pools());
      assertEquals(0, small.offset());
      assertEquals(1, small.length());
      assertEquals(4, large.offset());
      assertEquals(160, large.length());
      assertEquals(1, small.bytes().get(ValueLayout.JAVA_BYTE, 0));
      assertEquals(-4f, large.bytes().get(FLOAT, 156));
    }
  }

  @Test
  void readsQuantization() throws Exception {
    try (DecodedExample example = Cases.example("sub_quant8").decode()) {
      assertEquals(
          new Quantization.PerTensor(0.25f, -7), example.model().main().input(0).quantization());
      assertArrayEquals(new byte[] {-128, 127}, example.inputs().getFirst().bytes());
    }
    ChannelQuant scales = new ChannelQuant(1, Values.of(0.5, 2, 0.1));
    Example perChannel = with(0, operand -> operand.withChannelQuant(Optional.of(scales)));
    try (DecodedExample example = perChannel.decode()) {
      assertEquals(
          new Quantization.PerChannel(1, new float[] {0.5f, 2, 0.1f}),
          example.model().main().input(0).quantization());
    }
    refused(
        with(0, operand -> operand.withChannelQuant(Optional.of(scales)).withScale(1)),
        "exclude scale and zeroPoint");
  }

  @Test
  void refersToSubgraphs() throws Exception {
    Example loop = Cases.example("while_forever");
    try (DecodedExample example = loop.decode()) {
      assertEquals(
          new Lifetime.SubgraphReference(1), example.model().main().operands().get(1).lifetime());
      assertEquals(2, example.model().referenced().size());
      assertTrue(example.model().relaxComputationFloat32toFloat16());
    }
    RawOperand body = loop.main().operands().get(1);
    for (Values wrong : List.of(Values.of(2), Values.of(-1), Values.of(0.5), Values.NONE)) {
      refused(
          loop.withMain(loop.main().withOperand(1, body.withValues(Optional.of(wrong)))),
          "one index below 2");
    }
  }

  @Test
  void leavesOutEmptyInputs() throws Exception {
    try (DecodedExample example = Cases.example("add_zero_sized").decode()) {
      assertTrue(example.inputs().getFirst().isOmitted());
      assertEquals(0, example.outputs().getFirst().byteSize());
    }
  }

  @Test
  void readsNumbersAsTypes() throws Exception {
    Example example = Cases.addFloat();
    RawSubgraph main = example.main();
    RawSubgraph numbered =
        main.withOperand(2, main.operands().get(2).withType(1).withLifetime("3"))
            .withOperation(0, main.operations().getFirst().withType(0));
    try (DecodedExample decoded = example.withMain(numbered).decode()) {
      assertEquals(OperandCode.INT32, decoded.model().main().operands().get(2).type());
      assertEquals(OperationCode.ADD, decoded.model().main().operations().getFirst().type());
    }
  }

  @Test
  void readsOperationsOfExtensions() throws Exception {
    Example example = Cases.addFloat();
    RawSubgraph main = example.main();
    RawOperation operation = main.operations().getFirst().withType("io.thalamus/ERF#7");
    try (DecodedExample decoded = example.withMain(main.withOperation(0, operation)).decode()) {
      assertEquals(
          new ExtensionOperationType("io.thalamus", 7, "ERF"),
          decoded.model().main().operations().getFirst().type());
    }
    refused(
        example.withMain(main.withOperation(0, operation.withType("io.thalamus/ERF#70000"))),
        "70000");
  }

  /** AOSP's mutateOperandType and mutateOperationType: the numbers around the known ranges. */
  @ParameterizedTest
  @CsvSource({"-1", "16", "9999", "10000", "10001", "10002", "99999999999"})
  void refusesUnknownOperandTypes(String type) throws Exception {
    refused(with(0, operand -> operand.withType(type)), "main operand 0 'a'");
    refused(with(0, operand -> operand.withType("TENSOR_FLOAT64")), "TENSOR_FLOAT64");
  }

  @ParameterizedTest
  @CsvSource({"-1", "102", "9999", "10000", "10001", "FFT", "io.thalamus/ERF"})
  void refusesUnknownOperationTypes(String type) throws Exception {
    Example example = Cases.addFloat();
    RawOperation operation = example.main().operations().getFirst().withType(type);
    refused(example.withMain(example.main().withOperation(0, operation)), "'" + type + "'");
  }

  @Test
  void refusesWrongConsumerCounts() throws Exception {
    refused(with(0, operand -> operand.withConsumers(2)), "2 consumers are stated, 1");
    refused(with(0, operand -> operand.withConsumers(0)), "0 consumers are stated, 1");
    refused(with(3, operand -> operand.withConsumers(1)), "1 consumers are stated, 0");
  }

  @Test
  void refusesIndexesOfNothing() throws Exception {
    Example example = Cases.addFloat();
    RawSubgraph main = example.main();
    RawOperation add = main.operations().getFirst();
    refused(
        example.withMain(main.withOperation(0, add.withInputs(List.of(0, 1, 4)))),
        "there is no operand 4 among 4");
    refused(example.withMain(main.withOperation(0, add.withOutputs(List.of(-1)))), "no operand -1");
    refused(example.withMain(main.withInputIndexes(List.of(9))), "inputIndexes");
    refused(example.withMain(main.withOutputIndexes(List.of(4))), "outputIndexes");
  }

  @Test
  void refusesConstantsThatDoNotFit() throws Exception {
    refused(with(1, operand -> operand.withDims(2, 2)), "6 values for 4 elements");
    refused(with(1, operand -> operand.withDims(2, 0)), "unknown dimensions");
    refused(with(1, operand -> operand.withDims()), "unknown dimensions");
    refused(with(1, operand -> operand.withDims(2, -3)), "negative");
    refused(with(1, operand -> operand.withDims(1 << 30, 1 << 30, 1 << 30)), "more elements than");
    refused(with(2, operand -> operand.withValues(Optional.of(Values.of(0, 0)))), "2 values for 1");
    refused(with(2, operand -> operand.withValues(Optional.of(Values.of(0.5)))), "no whole number");
    refused(with(2, operand -> operand.withValues(Optional.of(Values.of(1L << 31)))), "2147483647");
    refused(with(2, operand -> operand.withType("SUBGRAPH")), "cannot be a constant");
  }

  @Test
  void refusesLifetimesThatContradictTheValues() throws Exception {
    refused(with(1, operand -> operand.withValues(Optional.empty())), "CONSTANT_COPY needs values");
    refused(with(1, operand -> operand.withLifetime("NO_VALUE")), "may not have values");
    refused(with(1, operand -> operand.withLifetime("TEMPORARY_VARIABLE")), "may not have");
    refused(with(1, operand -> operand.withLifetime("SUBGRAPH")), "one index below 0");
    refused(with(1, operand -> operand.withLifetime("FOREVER")), "no lifetime 'FOREVER'");
    refused(with(1, operand -> operand.withLifetime("7")), "no lifetime '7'");
  }

  @Test
  void refusesArgumentsThatDoNotMatch() throws Exception {
    Example example = Cases.addFloat();
    Values six = Values.of(new double[6]);
    List<Example.Input> inputs = example.inputs();
    List<Example.ExpectedOutput> outputs = example.expectedOutputs();
    refused(example.withData(List.of(), outputs), "0 inputs for 1");
    refused(example.withData(inputs, List.of()), "0 expectedOutputs for 1");
    refused(
        example.withData(List.of(new Example.Input(1, six)), outputs),
        "input 0 is for operand 1, but the graph has operand 0");
    refused(
        example.withData(List.of(new Example.Input(0, Values.of(1))), outputs),
        "input 0: 1 values for 6 elements");
    refused(
        example.withData(inputs, List.of(new Example.ExpectedOutput(3, false, Values.NONE))),
        "expected output 0: 0 values for 6 elements");
  }

  @Test
  void forgivesMeaninglessExpectations() throws Exception {
    try (DecodedExample example = Cases.example("add_wrong_shapes").decode()) {
      assertTrue(example.outputs().getFirst().ignored());
    }
  }

  /** The ends of every range, against bytes written out by hand. */
  @ParameterizedTest
  @CsvSource({
    "TENSOR_FLOAT32, -0.0, 00000080",
    "TENSOR_FLOAT32, 0.1, cdcccc3d",
    "TENSOR_FLOAT16, 65504, ff7b",
    "FLOAT16, 5.9604645E-8, 0100",
    "TENSOR_INT32, -2147483648, 00000080",
    "UINT32, 4294967295, ffffffff",
    "TENSOR_QUANT8_ASYMM, 255, ff",
    "TENSOR_QUANT8_ASYMM_SIGNED, -128, 80",
    "TENSOR_QUANT8_SYMM, 127, 7f",
    "TENSOR_QUANT8_SYMM_PER_CHANNEL, -1, ff",
    "TENSOR_QUANT16_ASYMM, 65535, ffff",
    "TENSOR_QUANT16_SYMM, -32768, 0080",
    "TENSOR_BOOL8, 1, 01",
    "BOOL, 0, 00"
  })
  void encodesElements(OperandCode type, double value, String hex) throws Exception {
    byte[] bytes = ElementCodec.encode(type, Values.of(value));

    assertEquals(hex, java.util.HexFormat.of().formatHex(bytes));
    assertEquals(
        Values.of(value).get(0),
        Elements.of(type).getDouble(MemorySegment.ofArray(bytes), 0),
        type == OperandCode.TENSOR_FLOAT32 || type == OperandCode.FLOAT16 ? 1e-8 : 0);
  }

  @ParameterizedTest
  @CsvSource({
    "TENSOR_INT32, 2147483648",
    "UINT32, -1",
    "UINT32, 4294967296",
    "TENSOR_QUANT8_ASYMM, -1",
    "TENSOR_QUANT8_ASYMM, 256",
    "TENSOR_QUANT8_ASYMM_SIGNED, 128",
    "TENSOR_QUANT8_SYMM, -129",
    "TENSOR_QUANT16_ASYMM, 65536",
    "TENSOR_QUANT16_SYMM, 32768",
    "TENSOR_BOOL8, 2",
    "BOOL, NaN",
    "TENSOR_INT32, Infinity"
  })
  void refusesElementsOutOfRange(OperandCode type, double value) {
    assertThrows(VectorFormatException.class, () -> ElementCodec.encode(type, Values.of(value)));
  }
}
