// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.extension.Elementwise.Rescaled;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The factor of RESCALE. */
class RescaleTest {
  private static final Shape SHAPE = Shape.of(2, 3);

  private static Model model(int multiplier, int shift) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("x", TENSOR_INT32, SHAPE, Quantization.NONE);
    int output = graph.output("y", TENSOR_INT32, SHAPE, Quantization.NONE);
    graph.operation(
        ThalamusExtension.RESCALE,
        List.of(input, graph.int32(multiplier), graph.int32(shift)),
        List.of(output));
    return Model.of(graph.build(List.of(input), List.of(output)));
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "1073741824, 30", "2147483647, -31"})
  void isKeptAsItIs(int multiplier, int shift) throws ValidationException {
    Model model = model(multiplier, shift);
    new ModelValidator(OperationCatalog.standard()).validate(model);
    OperationView operation =
        OperationView.of(model, model.main(), model.main().operations().getFirst());
    OperationDefinition definition =
        OperationCatalog.standard().find(ThalamusExtension.RESCALE).orElseThrow();
    assertEquals(List.of(SHAPE), definition.infer(operation));
    assertEquals(
        new Rescaled(
            new Requantization(multiplier, shift, Rounding.DOUBLE),
            0,
            new IntRange(Integer.MIN_VALUE, Integer.MAX_VALUE),
            0),
        definition.resolve(operation));
  }

  /** No device brings 16 bits to another scale on the way. */
  @Test
  void wordsAreConcatenatedInOneScaleAlone() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int first = graph.input("x", TENSOR_QUANT16_SYMM, SHAPE, Quantization.of(0.1f, 0));
    int second = graph.input("y", TENSOR_QUANT16_SYMM, SHAPE, Quantization.of(0.2f, 0));
    int output = graph.output("z", TENSOR_QUANT16_SYMM, Shape.of(4, 3), Quantization.of(0.1f, 0));
    graph.operation(
        ThalamusExtension.CONCATENATION, List.of(first, second, graph.int32(0)), List.of(output));
    Model model = Model.of(graph.build(List.of(first, second), List.of(output)));
    ValidationException refused =
        assertThrows(
            ValidationException.class,
            () -> new ModelValidator(OperationCatalog.standard()).validate(model));
    assertTrue(refused.getMessage().contains("scale and zero point differ"), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "1, 0, multiplier",
    "1073741823, 0, multiplier",
    "-1073741824, 0, multiplier",
    "1073741824, 31, shift",
    "1073741824, -32, shift"
  })
  void isRefusedWhereItIsNoMantissaAndShift(int multiplier, int shift, String named) {
    ValidationException refused =
        assertThrows(
            ValidationException.class,
            () ->
                new ModelValidator(OperationCatalog.standard()).validate(model(multiplier, shift)));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, refused.status());
    assertTrue(refused.getMessage().contains("the " + named + " must be"), refused.getMessage());
  }
}
