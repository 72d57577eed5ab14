// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** AOSP's TestRemoveDefaultArguments, and arguments that go in pairs. */
class DefaultArgumentsTest {
  /**
   * An operation whose arguments are written one by one: {@code x} a tensor of rank 4, {@code c} a
   * vector of channels, {@code s} and {@code p} block sizes and paddings, {@code no} and {@code
   * yes} a BOOL, {@code ?} a BOOL that is an input of the model, {@code 1.0} a FLOAT32, {@code 1}
   * an INT32.
   */
  private static Subgraph graph(String operation, String arguments) {
    SubgraphBuilder builder = new SubgraphBuilder();
    List<Integer> inputs = new ArrayList<>();
    for (String argument : arguments.split(" ")) {
      inputs.add(operand(builder, argument));
    }
    int output = builder.output("", OperandCode.TENSOR_FLOAT32, Shape.NONE, Quantization.NONE);
    builder.operation(OperationCode.valueOf(operation), inputs, List.of(output));
    return builder.build();
  }

  private static int operand(SubgraphBuilder builder, String argument) {
    return switch (argument) {
      case "x" ->
          builder.input("", OperandCode.TENSOR_FLOAT32, Shape.of(4, 4, 4, 4), Quantization.NONE);
      case "w" ->
          builder.input("", OperandCode.TENSOR_FLOAT32, Shape.of(1, 4, 4, 4), Quantization.NONE);
      case "c" -> builder.input("", OperandCode.TENSOR_FLOAT32, Shape.of(4), Quantization.NONE);
      case "s" -> builder.int32Vector(2, 2);
      case "p" -> builder.input("", OperandCode.TENSOR_INT32, Shape.of(2, 2), Quantization.NONE);
      case "no" -> builder.bool(false);
      case "yes" -> builder.bool(true);
      case "?" -> builder.input("", OperandCode.BOOL, Shape.NONE, Quantization.NONE);
      default ->
          argument.contains(".")
              ? builder.float32(Float.parseFloat(argument))
              : builder.int32(Integer.parseInt(argument));
    };
  }

  @ParameterizedTest
  @CsvSource({
    "AVERAGE_POOL_2D, x 0 0 0 0 1 1 2 2 0 no, 10",
    "AVERAGE_POOL_2D, x 0 0 0 0 1 1 2 2 0 yes, 11",
    "AVERAGE_POOL_2D, x 0 0 0 0 1 1 2 2 0, 10",
    "AVERAGE_POOL_2D, x 1 1 1 2 2 0 no, 7",
    "AVERAGE_POOL_2D, x 1 1 1 2 2 0 yes, 8",
    "MAX_POOL_2D, x 0 0 0 0 1 1 2 2 0 no, 10",
    "MAX_POOL_2D, x 1 1 1 2 2 0 no, 7",
    "L2_POOL_2D, x 0 0 0 0 1 1 2 2 0 no, 10",
    "L2_POOL_2D, x 1 1 1 2 2 0 no, 7",
    "CONV_2D, x x c 0 0 0 0 1 1 0 no 1 1, 10",
    "CONV_2D, x x c 0 0 0 0 1 1 0 yes 1 1, 11",
    "CONV_2D, x x c 0 0 0 0 1 1 0 no 2 1, 13",
    "CONV_2D, x x c 0 0 0 0 1 1 0 no 1 2, 13",
    "CONV_2D, x x c 0 0 0 0 1 1 0 no, 10",
    "CONV_2D, x x c 1 1 1 0 no 1 1, 7",
    "CONV_2D, x x c 1 1 1 0 yes 1 1, 8",
    "CONV_2D, x x c 1 1 1 0 no 2 1, 10",
    "CONV_2D, x x c 1 1 1 0 no, 7",
    "DEPTHWISE_CONV_2D, x w c 0 0 0 0 1 1 1 0 no 1 1, 11",
    "DEPTHWISE_CONV_2D, x w c 0 0 0 0 1 1 1 0 yes 1 1, 12",
    "DEPTHWISE_CONV_2D, x w c 0 0 0 0 1 1 1 0 no 2 1, 14",
    "DEPTHWISE_CONV_2D, x w c 1 1 1 1 0 no 1 1, 8",
    "DEPTHWISE_CONV_2D, x w c 1 1 1 1 1 no 1 1, 8",
    "DEPTH_TO_SPACE, x 2 no, 2",
    "DEPTH_TO_SPACE, x 2 yes, 3",
    "SPACE_TO_DEPTH, x 2 no, 2",
    "BATCH_TO_SPACE_ND, x s no, 2",
    "SPACE_TO_BATCH_ND, x s p no, 3",
    "L2_NORMALIZATION, x -1, 1",
    "L2_NORMALIZATION, x 0, 2",
    "LOCAL_RESPONSE_NORMALIZATION, x 2 1.0 1.0 0.5 -1, 5",
    "LOCAL_RESPONSE_NORMALIZATION, x 2 1.0 1.0 0.5 3, 6",
    "SOFTMAX, x 1.0 -1, 2",
    "SOFTMAX, x 1.0 1, 3",
    "RESIZE_BILINEAR, x 8 8 no no no, 3",
    "RESIZE_BILINEAR, x 8 8 no no yes, 6",
    "RESIZE_BILINEAR, x 8 8 no yes no, 5",
    "RESIZE_BILINEAR, x 8 8 no, 3",
    "RESIZE_BILINEAR, x 2.0 2.0 no no no, 3",
    "RESIZE_BILINEAR, x 8 8 yes no no, 4",
    "RESIZE_NEAREST_NEIGHBOR, x 8 8 no no no, 4",
    "RESIZE_NEAREST_NEIGHBOR, x 8 8 no yes no, 5",
    "RESIZE_NEAREST_NEIGHBOR, x 8 8 no, 4",
    // What is not known to be the default stays, and other operations keep all they have.
    "DEPTH_TO_SPACE, x 2 ?, 3",
    "GROUPED_CONV_2D, x x c 1 1 1 1 0 no, 9",
    "LOG_SOFTMAX, x 1.0 -1, 3",
    "TRANSPOSE_CONV_2D, x x c 0 0 0 0 1 1 0 no, 11"
  })
  void takesOffWhatEqualsItsDefault(String operation, String arguments, int kept)
      throws ValidationException {
    OperationCatalog catalog = OperationCatalog.standard();
    Model model = Model.of(graph(operation, arguments));
    catalog.validator().validate(model);
    Operation given = model.main().operations().get(0);
    Operation stripped = DefaultArguments.strip(model, catalog).main().operations().get(0);
    assertEquals(given.inputs().subList(0, kept), stripped.inputs());
    assertEquals(given.outputs(), stripped.outputs());
  }

  @Test
  void aModelWithoutSuchArgumentsStaysTheSameObject() {
    Model plain = new Model(graph("SOFTMAX", "x 1.0"), List.of(graph("SOFTMAX", "x 1.0 1")), true);
    assertSame(plain, DefaultArguments.strip(plain, OperationCatalog.standard()));
  }

  @Test
  void referencedGraphsAreStrippedToo() {
    Model model = new Model(graph("SOFTMAX", "x 1.0"), List.of(graph("SOFTMAX", "x 1.0 -1")), true);
    Model stripped = DefaultArguments.strip(model, OperationCatalog.standard());
    assertNotSame(model, stripped);
    assertSame(model.main(), stripped.main());
    assertEquals(2, stripped.referenced().get(0).operations().get(0).inputs().size());
    assertEquals(model.referenced().get(0).operands(), stripped.referenced().get(0).operands());
    assertEquals(true, stripped.relaxComputationFloat32toFloat16());
  }
}
