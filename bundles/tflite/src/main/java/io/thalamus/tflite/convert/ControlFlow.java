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
    List<Integer> given = operands.stream().map(node.graph()::written).toList();
    List<Integer> inputs = new ArrayList<>();
    inputs.add(node.in(0));
    List<Operand> results = null;
    for (int graph : new int[] {then, otherwise}) {
      List<Operand> forms = node.model().given(graph, forms(node, given));
      int reference = node.model().reference(graph, forms, Map.of());
      List<Operand> found = node.model().results(reference);
      results = results == null ? found : common(node, results, found);
      inputs.add(node.builder().subgraph(reference));
    }
    inputs.addAll(given);
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
            test -> node.model().within(body, round -> repeated(node, test, round, operands)));
    if (results.isPresent()) {
      give(node, results.get());
      return;
    }
    List<Integer> first = withElements(node, body, operands);
    List<Operand> states = node.model().given(body, forms(node, first));
    Map<Integer, Operand> known = known(node, body, first);
    int before = node.model().references();
    int decision = node.model().reference(condition, states, known);
    int round = node.model().reference(body, states, known);
    for (List<Operand> next = after(node, states, round);
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
    inputs.addAll(first);
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

  /**
   * What a loop begins with, where it is not written out. A list of which nothing is set has
   * elements like those that a round sets.
   */
  private static List<Integer> withElements(Node node, int body, List<Integer> operands) {
    Rows rows = node.graph().rows();
    List<Operand> likes =
        operands.stream().anyMatch(rows::isUnset) ? afterOne(node, body, operands) : List.of();
    List<Integer> written = new ArrayList<>();
    for (int i = 0; i < operands.size(); i++) {
      int operand = operands.get(i);
      written.add(
          rows.isUnset(operand) && i < likes.size()
              ? rows.written(node.graph(), operand, likes.get(i))
              : node.graph().written(operand));
    }
    return written;
  }

  /** The types and shapes of what one round gives, which is written out and taken back. */
  private static List<Operand> afterOne(Node node, int body, List<Integer> operands) {
    Runnable takeBack = takeBack(node);
    node.model().forgetInlined(0); // what has been written out leaves room for one round
    List<Integer> results =
        node.model().within(body, graph -> node.graph().inner(graph).inline(operands));
    List<Operand> forms = forms(node, results);
    takeBack.run();
    return forms;
  }

  /** The types and shapes that states have in all rounds, if they have such in one. */
  private static List<Operand> after(Node node, List<Operand> states, int round) {
    return common(node, states, node.model().results(round));
  }

  private static List<Operand> forms(Node node, List<Integer> operands) {
    return operands.stream().map(operand -> ModelConverter.form(node.operand(operand))).toList();
  }

  /** Operands with the dimensions that they share with others; the rest is not known. */
  private static List<Operand> common(Node node, List<Operand> operands, List<Operand> others) {
    node.require(
        operands.size() == others.size(),
        "its graphs have %d values and %d".formatted(operands.size(), others.size()));
    List<Operand> common = new ArrayList<>();
    for (int i = 0; i < operands.size(); i++) {
      Shape shape = operands.get(i).shape();
      Shape other = others.get(i).shape();
      node.require(
          shape.rank() == other.rank(), "value %d of it is %s and %s".formatted(i, shape, other));
      for (int axis = 0; axis < shape.rank(); axis++) {
        shape = shape.dimension(axis) == other.dimension(axis) ? shape : shape.with(axis, 0);
      }
      common.add(operands.get(i).with(shape));
    }
    return common;
  }

  /**
   * Adds the operation; the shapes of its results, and the types of lists, are those of its graphs,
   * not of the file.
   */
  private static void emit(
      Node node, OperationCode operation, List<Integer> inputs, List<Operand> results) {
    node.require(
        results.size() == node.outputCount(),
        "its graph has %s outputs, and it has %s".formatted(results.size(), node.outputCount()));
    List<Integer> outputs = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      Operand result = results.get(i);
      outputs.add(
          node.output(i).is(TensorType.VARIANT) && result.type() instanceof OperandCode type
              ? node.out(i, type, result.shape(), result.quantization())
              : node.out(i));
    }
    reshape(node, outputs, results);
    node.emit(operation, inputs, outputs);
    reshape(node, outputs, results);
  }

  private static void reshape(Node node, List<Integer> operands, List<Operand> results) {
    for (int i = 0; i < operands.size(); i++) {
      node.builder().reshape(operands.get(i), results.get(i).shape());
    }
  }

  /** The results of a loop or branch in whose place its operators stand; empty where it stays. */
  private static Optional<List<Integer>> writtenOut(
      Node node, int graph, Function<FlatGraph, List<Integer>> work) {
    Runnable takeBack = takeBack(node);
    try {
      return Optional.of(node.model().within(graph, work));
    } catch (Refusal e) {
      takeBack.run();
      return Optional.empty(); // what stays says itself what is wrong with it
    }
  }

  /** What takes back all that is converted from now on. */
  private static Runnable takeBack(Node node) {
    ModelConverter model = node.model();
    SubgraphBuilder.Mark mark = node.builder().mark();
    Variables.Moment moment = model.variables().moment();
    int inlined = model.inlined();
    int references = model.references();
    return () -> {
      node.graph().truncate(mark);
      model.variables().restore(moment);
      model.forgetInlined(inlined);
      model.forgetReferences(references);
    };
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
