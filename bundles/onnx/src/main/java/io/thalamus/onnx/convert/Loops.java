// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Branches as NNAPI's IF, and loops of which only an execution counts the rounds, as WHILE. What
 * goes round is the number of the round, whether to go on, the states, and the rows that were
 * gathered so far, below a first one that is none. What the body reads of the graph around it comes
 * behind.
 */
final class Loops {
  /** The number of the round, and whether to go on. */
  private static final int FIRST_STATE = 2;

  private final Node node;
  private final Value most;
  private final int rounds;
  private final List<Value> given = new ArrayList<>();

  private Loops(Node node, Value most, int rounds) {
    this.node = node;
    this.most = most;
    this.rounds = rounds;
  }

  /** One round, in a graph of its own. */
  @FunctionalInterface
  interface Body {
    /**
     * Converts the round.
     *
     * @param inner where its operations go
     * @param outer where the values of the graph around it are found
     * @param index the number of the round
     * @return whether to go on, the states, and a row of each result that is gathered
     */
    List<Value> convert(GraphConverter inner, Scope outer, Value index, List<Value> states)
        throws ModelFormatException;
  }

  /**
   * Adds a loop.
   *
   * @param most how many rounds there are at most; null where only the body says so
   * @param goesOn whether there is a first round
   * @param rounds how many rounds there are, where that is known; else 0
   * @return the states at its end, and the gathered rows
   */
  static List<Value> convert(
      Node node, Value most, Value goesOn, List<Value> states, int rounds, Body body)
      throws ModelFormatException {
    return new Loops(node, most, rounds).convert(goesOn, states, body);
  }

  /**
   * Adds a choice between two graphs that give results of different sizes.
   *
   * @param condition whether the first is executed
   */
  static List<Value> branch(Node node, Value condition, List<OnnxGraph> graphs)
      throws ModelFormatException {
    Loops branch = new Loops(node, null, 0);
    Ops ops = node.ops();
    List<GraphConverter> inner = List.of(node.graph().inner(), node.graph().inner());
    List<List<Integer>> inputs = List.of(new ArrayList<>(), new ArrayList<>());
    List<List<Value>> results = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      GraphConverter graph = inner.get(i);
      List<Integer> own = inputs.get(i);
      List<Integer> others = inputs.get(1 - i);
      GraphConverter other = inner.get(1 - i);
      Scope bridge =
          new Scope(
              node.scope(),
              value -> {
                int before = branch.given.size();
                Value seen = branch.capture(graph, value, own);
                for (Value captured : branch.given.subList(before, branch.given.size())) {
                  input(other, captured.type(), captured.shape(), others);
                }
                return seen;
              });
      results.add(graph.inline(graphs.get(i), bridge, Map.of()));
    }
    List<Integer> arguments = new ArrayList<>(List.of(ops.operand(ops.reshape(condition, 1))));
    for (int i = 0; i < 2; i++) {
      arguments.add(reference(ops, inner.get(i).finishInner(inputs.get(i), results.get(i))));
    }
    for (Value value : branch.given) {
      arguments.add(ops.operand(value));
    }
    List<Value> outputs = new ArrayList<>();
    for (int i = 0; i < results.getFirst().size(); i++) {
      Value first = results.get(0).get(i);
      int[] shape = first.shape().clone();
      for (int axis = 0; axis < shape.length; axis++) {
        shape[axis] = shape[axis] == results.get(1).get(i).dim(axis) ? shape[axis] : 0;
      }
      outputs.add(ops.temporary(first.type(), shape));
    }
    ops.addUnchecked(OperationCode.IF, arguments, outputs.stream().map(Value::operand).toList());
    return outputs;
  }

  private List<Value> convert(Value goesOn, List<Value> states, Body body)
      throws ModelFormatException {
    Ops ops = node.ops();
    for (Value state : states) {
      node.require(state.parts() == null, "a sequence goes round in it");
      node.require(!state.isOpen(), "a value of unknown size goes round in it");
    }
    GraphConverter inner = node.graph().inner();
    List<Integer> inputs = new ArrayList<>();
    Value index = input(inner, DataType.INT64, new int[0], inputs);
    input(inner, DataType.BOOL, new int[0], inputs);
    List<Value> before = new ArrayList<>();
    for (Value state : states) {
      before.add(input(inner, state.type(), state.shape(), inputs));
    }
    List<Integer> captured = new ArrayList<>();
    Scope bridge = new Scope(node.scope(), value -> capture(inner, value, captured));
    List<Value> results = body.convert(inner, bridge, index, before);
    List<Value> after = new ArrayList<>();
    after.add(inner.ops().add(index, 1));
    after.add(inner.ops().reshape(results.getFirst()));
    for (int i = 0; i < states.size(); i++) {
      Value result = results.get(i + 1);
      node.require(
          result.parts() == null
              && result.type() == states.get(i).type()
              && Arrays.equals(result.shape(), states.get(i).shape()),
          "round by round %s becomes %s".formatted(states.get(i).text(), result.text()));
      after.add(result);
    }
    List<Integer> rowInputs = new ArrayList<>();
    List<Value> rows = results.subList(states.size() + 1, results.size());
    for (Value row : rows) {
      node.require(
          row.parts() == null && !row.isOpen() && row.count() > 0,
          "it gathers " + row.text() + ", of which it does not know the size");
      Value gathered = input(inner, row.type(), Dims.insert(row.shape(), 0, 0), rowInputs);
      after.add(appended(inner.ops(), gathered, row));
    }
    inputs.addAll(rowInputs);
    Value limit = most == null ? null : capture(inner, most, captured);
    inputs.addAll(captured);
    int bodyGraph = inner.finishInner(inputs, after);
    List<Integer> arguments = new ArrayList<>();
    arguments.add(reference(ops, condition(inner, inputs, limit)));
    arguments.add(reference(ops, bodyGraph));
    arguments.add(ops.operand(ops.number(DataType.INT64, 0)));
    arguments.add(ops.operand(ops.reshape(goesOn)));
    for (Value state : states) {
      arguments.add(ops.operand(state));
    }
    for (Value row : rows) {
      int[] first = Dims.insert(row.shape(), 0, 1);
      arguments.add(ops.operand(ops.fill(row.type(), first, 0)));
    }
    for (Value value : given) {
      arguments.add(ops.operand(value));
    }
    return results(states, rows, arguments);
  }

  private List<Value> results(List<Value> states, List<Value> rows, List<Integer> arguments)
      throws ModelFormatException {
    Ops ops = node.ops();
    List<Value> found = new ArrayList<>();
    found.add(ops.temporary(DataType.INT64, new int[0]));
    found.add(ops.temporary(DataType.BOOL, new int[0]));
    for (Value state : states) {
      found.add(ops.temporary(state.type(), state.shape()));
    }
    for (Value row : rows) {
      found.add(ops.temporary(row.type(), Dims.insert(row.shape(), 0, 0)));
    }
    ops.addUnchecked(OperationCode.WHILE, arguments, found.stream().map(Value::operand).toList());
    List<Value> outputs = new ArrayList<>(found.subList(FIRST_STATE, found.size()));
    for (int i = states.size(); i < outputs.size(); i++) {
      outputs.set(i, withoutFirst(ops, outputs.get(i)));
    }
    return outputs;
  }

  private static Value appended(Ops ops, Value gathered, Value row) throws ModelFormatException {
    Value last = ops.reshape(row, Dims.insert(row.shape(), 0, 1));
    return ops.emitSized(
        gathered.type(),
        gathered.shape(),
        ThalamusExtension.CONCATENATION,
        ops.operand(gathered),
        ops.operand(last),
        ops.int32(0));
  }

  private Value withoutFirst(Ops ops, Value gathered) throws ModelFormatException {
    int[] starts = new int[gathered.rank()];
    starts[0] = 1;
    int[] sizes = Dims.with(gathered.shape(), 0, rounds > 0 ? rounds : -1);
    return ops.emitSized(
        gathered.type(),
        Dims.with(gathered.shape(), 0, rounds),
        OperationCode.SLICE,
        ops.operand(gathered),
        ops.int32Vector(starts),
        ops.int32Vector(sizes));
  }

  private static Value input(GraphConverter inner, DataType type, int[] shape, List<Integer> inputs)
      throws ModelFormatException {
    Value value = inner.ops().input(type, shape);
    inputs.add(value.operand());
    return value;
  }

  /** A value of the graph around the body, as the body sees it: a constant, or one input more. */
  private Value capture(GraphConverter inner, Value value, List<Integer> inputs)
      throws ModelFormatException {
    if (value.parts() != null) {
      List<Value> parts = new ArrayList<>();
      for (Value part : value.parts()) {
        parts.add(capture(inner, part, inputs));
      }
      return Value.ofSequence(parts);
    }
    if (value.isConstant()) {
      Value constant = Value.of(value.constant());
      return value.grid() == null ? constant : constant.with(value.grid());
    }
    given.add(value);
    Value inside = input(inner, value.type(), value.shape(), inputs);
    return value.isOpen() ? Value.ofOpen(value.type(), value.shape(), inside.operand()) : inside;
  }

  /** The graph that says whether there is another round, with the inputs of the body. */
  private int condition(GraphConverter body, List<Integer> inputs, Value limit)
      throws ModelFormatException {
    GraphConverter graph = node.graph().inner();
    SubgraphBuilder builder = graph.ops().builder();
    List<Integer> own = new ArrayList<>();
    for (int input : inputs) {
      Operand operand = body.ops().builder().get(input);
      own.add(builder.operand(operand));
    }
    int[] scalar = new int[0];
    Value goesOn = Value.of(DataType.BOOL, scalar, own.get(1));
    if (limit != null) {
      Value index = Value.of(DataType.INT64, scalar, own.get(0));
      Value end =
          limit.isConstant()
              ? limit
              : Value.of(DataType.INT64, scalar, own.get(inputs.indexOf(limit.operand())));
      Value isLess = graph.ops().binary(Binary.LESS, index, end);
      goesOn = graph.ops().binary(Binary.AND, goesOn, isLess);
    }
    return graph.finishInner(own, List.of(goesOn));
  }

  private static int reference(Ops ops, int graph) {
    return ops.builder()
        .operand(
            new Operand(
                OperandCode.SUBGRAPH,
                Shape.NONE,
                Quantization.NONE,
                new SubgraphReference(graph),
                ""));
  }
}
