// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ComparisonTest {
  /** An example whose only output has this type and value. */
  private static Example example(String type, boolean relaxed, double expected) throws Exception {
    Example base = relaxed ? relaxed(Cases.addFloat()) : Cases.addFloat();
    RawSubgraph main = base.main();
    return base.withMain(main.withOperand(3, main.operands().get(3).withType(type).withDims(1)))
        .withData(
            base.inputs(), List.of(new Example.ExpectedOutput(3, false, Values.of(expected))));
  }

  private static Example relaxed(Example example) {
    return new Example(
        example.name(),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        true,
        false,
        0,
        example.main(),
        List.of(),
        example.inputs(),
        example.expectedOutputs());
  }

  private static Optional<String> compare(Example example, double actual) throws Exception {
    try (DecodedExample decoded = example.decode()) {
      byte[] bytes =
          ElementCodec.encode(decoded.outputs().getFirst().operand().type(), Values.of(actual));
      return new Comparison(decoded).compare(0, MemorySegment.ofArray(bytes));
    }
  }

  /**
   * The table of docs/internals/conformance-data.md: the largest difference accepted and the
   * smallest refused.
   */
  @ParameterizedTest
  @CsvSource({
    "TENSOR_FLOAT32, false, 0, 0.0000099, 0.0000101",
    "TENSOR_FLOAT32, false, 1000, 1000.00055, 1000.00067",
    "TENSOR_FLOAT32, false, -1000, -1000.00055, -1000.00067",
    "TENSOR_FLOAT32, true, 0, 0.00488, 0.00489",
    "TENSOR_FLOAT32, true, 100, 100.4931, 100.4932",
    "TENSOR_FLOAT16, false, 0, 0.00488, 0.00489",
    "TENSOR_FLOAT16, false, 8, 8.0390625, 8.046875",
    "TENSOR_INT32, false, 7, 8, 9",
    "INT32, false, 7, 6, 5",
    "TENSOR_QUANT8_ASYMM, false, 254, 255, 252",
    "TENSOR_QUANT8_ASYMM_SIGNED, false, -127, -128, -125",
    "TENSOR_QUANT16_SYMM, false, 0, -1, 2",
    "TENSOR_QUANT16_ASYMM, false, 65534, 65535, 65532",
    "TENSOR_BOOL8, false, 1, 1, 0"
  })
  void followsTheTable(String type, boolean relaxed, double expected, double near, double far)
      throws Exception {
    Example example = example(type, relaxed, expected);

    assertEquals(Optional.empty(), compare(example, near));
    String wrong = compare(example, far).orElseThrow();
    assertTrue(wrong.matches("ADD: output 0\\[0] is .*, expected .*; 1 of 1 wrong"), wrong);
  }

  @Test
  void anyFloat16OperandRelaxesFloat32() throws Exception {
    Example example = example("TENSOR_FLOAT32", false, 1);
    RawSubgraph main = example.main();
    Example mixed =
        example.withMain(main.withOperand(1, main.operands().get(1).withType("TENSOR_FLOAT16")));

    assertTrue(compare(example, 1.009).isPresent());
    assertEquals(Optional.empty(), compare(mixed, 1.009));
  }

  @ParameterizedTest
  @CsvSource({
    "NaN, NaN, true",
    "NaN, 0, false",
    "0, NaN, false",
    "Infinity, Infinity, true",
    "Infinity, 3e38, false",
    "Infinity, -Infinity, false",
    "3e38, Infinity, false",
    "0, -0.0, true"
  })
  void meetsNaNAndInfinityExactly(double expected, double actual, boolean accepted)
      throws Exception {
    assertEquals(accepted, compare(example("TENSOR_FLOAT32", false, expected), actual).isEmpty());
  }

  @Test
  void tellsTheFirstWrongElement() throws Exception {
    try (DecodedExample decoded = Cases.addFloat().decode()) {
      byte[] bytes =
          ElementCodec.encode(OperandCode.TENSOR_FLOAT32, Values.of(1.1, 0, 303, 4, 5.5, 8));

      String wrong = new Comparison(decoded).compare(0, MemorySegment.ofArray(bytes)).orElseThrow();

      assertEquals("ADD: output 0[1,1] is 5.5, expected 5; 2 of 6 wrong", wrong);
    }
  }

  @Test
  void tellsAWrongShape() throws Exception {
    try (DecodedExample decoded = Cases.addFloat().decode()) {
      Comparison comparison = new Comparison(decoded);

      assertEquals(Optional.empty(), comparison.compareShape(0, Shape.of(2, 3)));
      assertEquals(
          "ADD: output 0 has shape [3, 0], expected [2, 3]",
          comparison.compareShape(0, Shape.of(3, 0)).orElseThrow());
    }
  }

  @Test
  void ignoresWhatIsIgnored() throws Exception {
    Example example = example("TENSOR_FLOAT32", false, 1);
    Example ignored =
        example.withData(
            example.inputs(), List.of(new Example.ExpectedOutput(3, true, Values.of(1))));

    assertEquals(Optional.empty(), compare(ignored, 1000));
  }

  /** Odds 1:3, as logarithms; eight samples, of which six should be of class 1. */
  @ParameterizedTest
  @CsvSource({
    "0 0 1 1 1 1 1 1, 0.1, ok",
    "0 0 0 1 1 1 1 1, 0.1, frequency",
    "1 1 1 1 1 1 1 1, 0.1, frequency",
    "0 0 1 1 1 1 1 2, 0.5, class 2 of 2",
    "0 0 1 1 1 1 1 -1, 0.5, class -1 of 2"
  })
  void comparesDistributions(String drawn, double tolerance, String verdict) throws Exception {
    RawOperand odds =
        RawOperand.of("odds", "TENSOR_FLOAT32", RawOperand.Dims.of(1, 2), "SUBGRAPH_INPUT", 1);
    RawOperand samples =
        RawOperand.of("samples", "TENSOR_INT32", RawOperand.Dims.of(1, 8), "SUBGRAPH_OUTPUT", 0);
    RawSubgraph main =
        new RawSubgraph(
            List.of(odds, samples),
            List.of(new RawOperation("RANDOM_MULTINOMIAL", List.of(0), List.of(1))),
            List.of(0),
            List.of(1));
    Example example =
        new Example(
            "own",
            Optional.empty(),
            Optional.empty(),
            List.of(),
            Optional.empty(),
            false,
            false,
            tolerance,
            main,
            List.of(),
            List.of(new Example.Input(0, Values.of(5, 5 + Math.log(3)))),
            List.of(new Example.ExpectedOutput(1, true, Values.of(new double[8]))));
    double[] numbers =
        java.util.Arrays.stream(drawn.split(" ")).mapToDouble(Double::parseDouble).toArray();
    try (DecodedExample decoded = example.decode()) {
      byte[] bytes = ElementCodec.encode(OperandCode.TENSOR_INT32, Values.of(numbers));
      String text = new Comparison(decoded).compare(0, MemorySegment.ofArray(bytes)).orElse("ok");
      assertTrue(text.contains(verdict), text);
    }
  }
}
