// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The refused forms of IF and WHILE. The rules are those of AOSP's validateOperation. */
class ControlFlowValidationTest {
  private static final ModelValidator VALIDATOR = OperationCatalog.standard().validator();

  /** A value of a graph, by type and shape. */
  private record Value(OperandType type, Shape shape, Quantization quantization) {
    static Value of(OperandType type, int... dimensions) {
      return new Value(type, Shape.of(dimensions), Quantization.NONE);
    }
  }

  private static final Value FLOAT = Value.of(OperandCode.TENSOR_FLOAT32, 2);
  private static final ConstantCopy TRUE = new ConstantCopy(new byte[] {1});
  private static final Value BOOL = Value.of(OperandCode.TENSOR_BOOL8, 1);

  /** A graph of these inputs whose outputs are casts of the first input. */
  private static Subgraph graph(List<Value> inputs, List<Value> outputs) {
    SubgraphBuilder builder = new SubgraphBuilder();
    List<Integer> indexes = new ArrayList<>();
    for (Value value : inputs) {
      indexes.add(builder.input("in", value.type(), value.shape(), value.quantization()));
    }
    for (Value value : outputs) {
      int output = builder.output("out", value.type(), value.shape(), value.quantization());
      if (value.type() == OperandCode.TENSOR_BOOL8) {
        int flag = builder.constant("flag", value.type(), Shape.of(1), Quantization.NONE, TRUE);
        builder.operation(OperationCode.LOGICAL_NOT, List.of(flag), List.of(output));
      } else {
        builder.operation(OperationCode.RELU, List.of(indexes.get(0)), List.of(output));
      }
    }
    return builder.build();
  }

  private static int reference(SubgraphBuilder builder, int index) {
    return builder.operand(
        new Operand(
            OperandCode.SUBGRAPH, Shape.NONE, Quantization.NONE, new SubgraphReference(index), ""));
  }

  private static Model branch(
      Value condition, List<Value> inputs, List<Value> outputs, Subgraph then, Subgraph otherwise) {
    SubgraphBuilder builder = new SubgraphBuilder();
    List<Integer> arguments = new ArrayList<>();
    arguments.add(
        builder.input("c", condition.type(), condition.shape(), condition.quantization()));
    arguments.add(reference(builder, 0));
    arguments.add(reference(builder, 1));
    return model(builder, OperationCode.IF, arguments, inputs, outputs, then, otherwise);
  }

  private static Model loop(
      List<Value> inputs, List<Value> outputs, Subgraph condition, Subgraph body) {
    SubgraphBuilder builder = new SubgraphBuilder();
    List<Integer> arguments = new ArrayList<>();
    arguments.add(reference(builder, 0));
    arguments.add(reference(builder, 1));
    return model(builder, OperationCode.WHILE, arguments, inputs, outputs, condition, body);
  }

  private static Model model(
      SubgraphBuilder builder,
      OperationCode type,
      List<Integer> arguments,
      List<Value> inputs,
      List<Value> outputs,
      Subgraph... graphs) {
    for (Value value : inputs) {
      arguments.add(builder.input("x", value.type(), value.shape(), value.quantization()));
    }
    List<Integer> results = new ArrayList<>();
    for (Value value : outputs) {
      results.add(builder.output("y", value.type(), value.shape(), value.quantization()));
    }
    builder.operation(type, arguments, results);
    return new Model(builder.build(), List.of(graphs), false);
  }

  private static void assertRefused(String reason, Model model) {
    ValidationException e =
        assertThrows(ValidationException.class, () -> VALIDATOR.validate(model));
    assertTrue(e.getMessage().contains(reason), e.getMessage());
  }

  private static OperationView first(Model model) {
    Operation operation = model.main().operations().get(0);
    return OperationView.of(model, model.main(), operation);
  }

  @Test
  void whatFitsIsAcceptedSince13() throws ValidationException {
    Subgraph graph = graph(List.of(FLOAT), List.of(FLOAT));
    Model branch = branch(BOOL, List.of(FLOAT), List.of(FLOAT), graph, graph);
    assertEquals(FeatureLevel.V1_3, VALIDATOR.validate(branch));
    assertTrue(ControlFlow.hasKnownSizes(first(branch)));
    Subgraph condition = graph(List.of(FLOAT), List.of(BOOL));
    assertEquals(
        FeatureLevel.V1_3,
        VALIDATOR.validate(loop(List.of(FLOAT), List.of(FLOAT), condition, graph)));
  }

  @Test
  void unknownDimensionsFitAndAreSeen() throws ValidationException {
    for (Value open :
        List.of(Value.of(OperandCode.TENSOR_FLOAT32, 0), Value.of(OperandCode.TENSOR_FLOAT32))) {
      Subgraph graph = graph(List.of(open), List.of(open));
      Model inside = branch(BOOL, List.of(FLOAT), List.of(FLOAT), graph, graph);
      VALIDATOR.validate(inside);
      assertFalse(ControlFlow.hasKnownSizes(first(inside)));
      Subgraph closed = graph(List.of(FLOAT), List.of(FLOAT));
      Model outside = branch(BOOL, List.of(open), List.of(open), closed, closed);
      VALIDATOR.validate(outside);
      assertFalse(ControlFlow.hasKnownSizes(first(outside)));
    }
  }

  @Test
  void aConditionIsOneTruthValue() {
    Subgraph graph = graph(List.of(FLOAT), List.of(FLOAT));
    for (Value wrong :
        List.of(
            Value.of(OperandCode.TENSOR_BOOL8, 2),
            Value.of(OperandCode.TENSOR_BOOL8),
            Value.of(OperandCode.TENSOR_BOOL8, 1, 1),
            Value.of(OperandCode.BOOL),
            Value.of(OperandCode.TENSOR_INT32, 1))) {
      assertRefused("TENSOR_BOOL8", branch(wrong, List.of(FLOAT), List.of(FLOAT), graph, graph));
    }
    Subgraph noCondition = graph(List.of(FLOAT), List.of(FLOAT));
    assertRefused("condition", loop(List.of(FLOAT), List.of(FLOAT), noCondition, graph));
    Subgraph two = graph(List.of(FLOAT), List.of(BOOL, BOOL));
    assertRefused("2 outputs", loop(List.of(FLOAT), List.of(FLOAT), two, graph));
  }

  @Test
  void countsMustAgree() {
    Subgraph one = graph(List.of(FLOAT), List.of(FLOAT));
    Subgraph twoIn = graph(List.of(FLOAT, FLOAT), List.of(FLOAT));
    Subgraph twoOut = graph(List.of(FLOAT), List.of(FLOAT, FLOAT));
    assertRefused("hands 1 inputs", branch(BOOL, List.of(FLOAT), List.of(FLOAT), one, twoIn));
    assertRefused("1 outputs", branch(BOOL, List.of(FLOAT), List.of(FLOAT), one, twoOut));
    Subgraph condition = graph(List.of(FLOAT), List.of(BOOL));
    assertRefused("hands 1 inputs", loop(List.of(FLOAT), List.of(FLOAT), condition, twoIn));
    assertRefused("gives 2 values", loop(List.of(FLOAT), List.of(FLOAT), condition, twoOut));
    assertRefused(
        "2 outputs, but its body only 1",
        loop(List.of(FLOAT), List.of(FLOAT, FLOAT), condition, one));
    assertRefused(
        "at least 3 inputs", loop(List.of(), List.of(FLOAT), graph(List.of(), List.of(BOOL)), one));
  }

  @Test
  void typesQuantizationAndDimensionsMustAgree() {
    Subgraph graph = graph(List.of(FLOAT), List.of(FLOAT));
    Value half = Value.of(OperandCode.TENSOR_FLOAT16, 2);
    Value longer = Value.of(OperandCode.TENSOR_FLOAT32, 3);
    Value deeper = Value.of(OperandCode.TENSOR_FLOAT32, 2, 1);
    for (Value wrong : List.of(half, longer, deeper)) {
      Subgraph other = graph(List.of(wrong), List.of(wrong));
      assertRefused("differ", branch(BOOL, List.of(wrong), List.of(FLOAT), graph, graph));
      assertRefused("differ", branch(BOOL, List.of(FLOAT), List.of(wrong), graph, graph));
      assertRefused("differ", branch(BOOL, List.of(FLOAT), List.of(FLOAT), graph, other));
      Subgraph condition = graph(List.of(wrong), List.of(BOOL));
      assertRefused("differ", loop(List.of(FLOAT), List.of(FLOAT), condition, graph));
    }
    Value quantized =
        new Value(OperandCode.TENSOR_QUANT8_ASYMM, Shape.of(2), Quantization.of(0.5f, 3));
    Value finer =
        new Value(OperandCode.TENSOR_QUANT8_ASYMM, Shape.of(2), Quantization.of(0.25f, 3));
    Subgraph quantizedGraph = graph(List.of(quantized), List.of(quantized));
    assertRefused(
        "differ", branch(BOOL, List.of(finer), List.of(quantized), quantizedGraph, quantizedGraph));
  }

  @Test
  void whatABodyGivesItMustTake() {
    Subgraph condition = graph(List.of(FLOAT), List.of(BOOL));
    Value open = Value.of(OperandCode.TENSOR_FLOAT32, 0);
    Value longer = Value.of(OperandCode.TENSOR_FLOAT32, 3);
    // Both fit the value outside, whose length is open, but not each other.
    Subgraph body = graph(List.of(FLOAT), List.of(longer));
    assertRefused("body", loop(List.of(open), List.of(open), condition, body));
  }

  @Test
  void brokenIndexListsOfAGraphAreFoundBeforeAnIfLooksIntoIt() {
    Subgraph graph = graph(List.of(FLOAT), List.of(FLOAT));
    Subgraph broken =
        new Subgraph(graph.operands(), graph.operations(), List.of(9), graph.outputIndexes());
    assertRefused(
        "referenced graph 1", branch(BOOL, List.of(FLOAT), List.of(FLOAT), graph, broken));
  }

  @Test
  void graphsMustNotReferToEachOtherInACircle() {
    SubgraphBuilder builder = new SubgraphBuilder();
    int condition =
        builder.constant("c", OperandCode.TENSOR_BOOL8, Shape.of(1), Quantization.NONE, TRUE);
    int input = builder.input("x", FLOAT.type(), FLOAT.shape(), Quantization.NONE);
    int output = builder.output("y", FLOAT.type(), FLOAT.shape(), Quantization.NONE);
    int self = reference(builder, 0);
    int other = reference(builder, 1);
    builder.operation(OperationCode.IF, List.of(condition, self, other, input), List.of(output));
    assertRefused(
        "refers to itself",
        branch(
            BOOL,
            List.of(FLOAT),
            List.of(FLOAT),
            builder.build(),
            graph(List.of(FLOAT), List.of(FLOAT))));
  }

  @Test
  void branchesThatAgreeTellTheShape() throws ValidationException {
    Value open = Value.of(OperandCode.TENSOR_FLOAT32, 0, 0);
    Value rows = Value.of(OperandCode.TENSOR_FLOAT32, 4, 2);
    Value columns = Value.of(OperandCode.TENSOR_FLOAT32, 5, 2);
    Model model =
        branch(
            BOOL,
            List.of(open),
            List.of(open),
            graph(List.of(open), List.of(rows)),
            graph(List.of(open), List.of(columns)));
    OperationDefinition definition =
        OperationCatalog.standard().find(OperationCode.IF).orElseThrow();
    assertEquals(List.of(Shape.of(0, 2)), definition.infer(first(model)));
  }
}
