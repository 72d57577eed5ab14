// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.tflite.file.FlatGraph;
import io.thalamus.tflite.file.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.IfOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.WhileOptions;

/** IF and WHILE, whose bodies are graphs of the same file. */
final class ControlFlow {
  /** Bytes of a constant that bodies of loops know. */
  private static final int MOST_KNOWN = 64;

  private ControlFlow() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.IF, ControlFlow::branch);
    table.add(BuiltinOperator.WHILE, ControlFlow::loop);
  }

  private static void branch(Node node) {
    IfOptions options = node.options(new IfOptions());
    int then = node.get(options::thenSubgraphIndex);
    int otherwise = node.get(options::elseSubgraphIndex);
    List<Integer> operands = node.insFrom(1);
    if (node.isKnown(0)) {
      int chosen = node.onlyInt(0) != 0 ? then : otherwise;
      Optional<List<Integer>> results =
          writtenOut(node, chosen, graph -> node.graph().inner(graph).inline(operands));
      if (results.isPresent()) {
        give(node, results.get());
        return;
      }
    }
    List<Integer> inputs = new ArrayList<>();
    inputs.add(node.in(0));
    List<Shape> results = null;
    for (int graph : new int[] {then, otherwise}) {
      List<Shape> given = node.model().given(graph, shapes(node, operands));
      int reference = node.model().reference(graph, given, Map.of());
      List<Shape> found = node.model().results(reference);
      results = results == null ? found : common(node, results, found);
      inputs.add(node.builder().subgraph(reference));
    }
    inputs.addAll(operands);
    emit(node, OperationCode.IF, inputs, results);
  }

  /**
   * All values of a loop go round: as many inputs as outputs. A loop whose rounds can be counted
   * now is written out: then its indexes are known, and a device has all rounds in one program.
   */
  private static void loop(Node node) {
    WhileOptions options = node.options(new WhileOptions());
    int condition = node.get(options::condSubgraphIndex);
    int body = node.get(options::bodySubgraphIndex);
    List<Integer> operands = node.insFrom(0);
    Optional<List<Integer>> results =
        writtenOut(
            node,
            condition,
            first -> node.model().within(body, second -> repeated(node, first, second, operands)));
    if (results.isPresent()) {
      give(node, results.get());
      return;
    }
    List<Shape> states = node.model().given(body, shapes(node, operands));
    Map<Integer, Operand> known = known(node, body, operands);
    int before = node.model().references();
    int decision = node.model().reference(condition, states, known);
    int round = node.model().reference(body, states, known);
    for (List<Shape> next = after(node, states, round);
        !next.equals(states);
        next = after(node, states, round)) {
      node.model().forgetReferences(before);
      node.model().countTried(1);
      states = next;
      decision = node.model().reference(condition, states, known);
      round = node.model().reference(body, states, known);
    }
    List<Integer> inputs = new ArrayList<>();
    inputs.add(node.builder().subgraph(decision));
    inputs.add(node.builder().subgraph(round));
    inputs.addAll(operands);
    emit(node, OperationCode.WHILE, inputs, states);
  }

  /** The small constants that stay what they are from round to round, such as sizes. */
  private static Map<Integer, Operand> known(Node node, int body, List<Integer> operands) {
    Map<Integer, Operand> known = new HashMap<>();
    for (int input : node.model().passed(body, operands.size())) {
      Operand operand = node.operand(operands.get(input));
      if (operand.type() == OperandCode.TENSOR_INT32
          && operand.lifetime() instanceof ConstantCopy copy
          && copy.value().length <= MOST_KNOWN) {
        known.put(input, operand);
      }
    }
    return known;
  }

  /** The shapes that states have in all rounds, if they have such in one. */
  private static List<Shape> after(Node node, List<Shape> states, int round) {
    return common(node, states, node.model().results(round));
  }

  private static List<Shape> shapes(Node node, List<Integer> operands) {
    return operands.stream().map(operand -> node.operand(operand).shape()).toList();
  }

  /** The dimensions that two shapes have in common; the others are not known. */
  private static List<Shape> common(Node node, List<Shape> shapes, List<Shape> others) {
    node.require(
        shapes.size() == others.size(),
        "its graphs have %d values and %d".formatted(shapes.size(), others.size()));
    List<Shape> common = new ArrayList<>();
    for (int i = 0; i < shapes.size(); i++) {
      Shape shape = shapes.get(i);
      Shape other = others.get(i);
      node.require(
          shape.rank() == other.rank(), "value %d of it is %s and %s".formatted(i, shape, other));
      for (int axis = 0; axis < shape.rank(); axis++) {
        shape = shape.dimension(axis) == other.dimension(axis) ? shape : shape.with(axis, 0);
      }
      common.add(shape);
    }
    return common;
  }

  /** Adds the operation; the shapes of its results are those of its graphs, not of the file. */
  private static void emit(
      Node node, OperationCode operation, List<Integer> inputs, List<Shape> shapes) {
    node.require(
        shapes.size() == node.outputCount(),
        "its graph has %s outputs, and it has %s".formatted(shapes.size(), node.outputCount()));
    List<Integer> outputs = node.outs();
    reshape(node, outputs, shapes);
    node.emit(operation, inputs, outputs);
    reshape(node, outputs, shapes);
  }

  private static void reshape(Node node, List<Integer> operands, List<Shape> shapes) {
    for (int i = 0; i < operands.size(); i++) {
      node.builder().reshape(operands.get(i), shapes.get(i));
    }
  }

  /** The results of a loop or branch in whose place its operators stand; empty where it stays. */
  private static Optional<List<Integer>> writtenOut(
      Node node, int graph, Function<FlatGraph, List<Integer>> work) {
    ModelConverter model = node.model();
    SubgraphBuilder.Mark mark = node.builder().mark();
    Variables.Moment moment = model.variables().moment();
    int inlined = model.inlined();
    int references = model.references();
    try {
      return Optional.of(model.within(graph, work));
    } catch (Refusal e) {
      if (IntStream.range(0, node.inputCount()).anyMatch(i -> isList(node, i))) {
        throw e; // only what is written out has lists
      }
      node.graph().truncate(mark);
      model.variables().restore(moment);
      model.forgetInlined(inlined);
      model.forgetReferences(references);
      return Optional.empty(); // what stays says itself what is wrong with it
    }
  }

  private static boolean isList(Node node, int input) {
    return node.has(input) && node.input(input).is(TensorType.VARIANT);
  }

  private static List<Integer> repeated(
      Node node, FlatGraph conditionGraph, FlatGraph bodyGraph, List<Integer> operands) {
    GraphConverter condition = node.graph().inner(conditionGraph);
    node.require(conditionGraph.outputs().length == 1, "its condition has not one output");
    GraphConverter body = node.graph().inner(bodyGraph);
    body.fixPassedInputs();
    List<Integer> state = operands;
    while (isTrue(node, condition.inline(state).getFirst())) {
      node.model().countInlined();
      state = body.inline(state);
    }
    return state;
  }

  private static boolean isTrue(Node node, int operand) {
    if (node.operand(operand).type() == OperandCode.TENSOR_BOOL8
        && node.operand(operand).lifetime() instanceof ConstantCopy known
        && known.value().length == 1) {
      return known.value()[0] != 0;
    }
    throw node.refuse("whether it goes on is not known beforehand");
  }

  private static void give(Node node, List<Integer> results) {
    node.require(
        results.size() == node.outputCount(),
        "its graph has %s outputs, and it has %s".formatted(results.size(), node.outputCount()));
    for (int i = 0; i < node.outputCount(); i++) {
      node.alias(i, results.get(i));
    }
  }
}
