// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.SubgraphBuilder;
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
    List<Value> convert(GraphConverter inner, Scope outer, Value index, List<Value> states);
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
      Node node, Value most, Value goesOn, List<Value> states, int rounds, Body body) {
    return new Loops(node, most, rounds).convert(goesOn, states, body);
  }

  /**
   * Adds a choice between two graphs that give results of different sizes.
   *
   * @param condition whether the first is executed
   */
  static List<Value> branch(Node node, Value condition, List<OnnxGraph> graphs) {
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
      arguments.add(
          ops.builder().subgraph(inner.get(i).finishInner(inputs.get(i), results.get(i))));
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

  /**
   * What a state is in each round.
   *
   * @param shape of the state, or of each value of a list; null where the list has been empty
   * @param isList whether it is a list, whose values are rows of one value
   */
  private record State(DataType type, int[] shape, boolean isList) {
    static State of(Value value) {
      if (value.rows() != null) {
        int[] rows = value.rows().shape();
        return new State(value.type(), Arrays.copyOfRange(rows, 1, rows.length), true);
      }
      if (value.parts() == null) {
        return new State(value.type(), value.shape(), false);
      }
      State state = new State(null, null, true);
      for (Value part : value.parts()) {
        Emitter.require(
            !part.isSequence() && !part.isOpen() && part.count() > 0,
            "a list of " + part.text() + " goes round in it");
        state = state.with(new State(part.type(), part.shape(), true));
      }
      return state;
    }

    /** The state that is this one at first and becomes another; sizes that change are 0. */
    State with(State other) {
      if (shape == null || other.shape == null) {
        return shape == null ? other : this;
      }
      boolean isAlike =
          isList == other.isList
              && type == other.type
              && shape.length == other.shape.length
              && (!isList || Arrays.equals(shape, other.shape));
      Emitter.require(isAlike, "round by round %s becomes %s".formatted(text(), other.text()));
      int[] sizes = shape.clone();
      for (int i = 0; i < sizes.length; i++) {
        sizes[i] = sizes[i] == other.shape[i] ? sizes[i] : 0;
      }
      return new State(type, sizes, isList);
    }

    boolean isSame(State other) {
      return Arrays.equals(shape, other.shape);
    }

    String text() {
      return (isList ? "a list of " : "") + type + " " + Dims.text(shape);
    }

    /** The shape of its operand. */
    int[] physical() {
      return isList ? Dims.insert(shape, 0, 0) : shape;
    }
  }

  private List<Value> convert(Value goesOn, List<Value> first, Body body) {
    List<State> states = new ArrayList<>();
    for (Value value : first) {
      states.add(State.of(value));
    }
    while (true) {
      given.clear();
      GraphConverter inner = node.graph().inner();
      List<Integer> inputs = new ArrayList<>();
      Value index = input(inner, DataType.INT64, new int[0], inputs);
      input(inner, DataType.BOOL, new int[0], inputs);
      List<Value> before = new ArrayList<>();
      for (State state : states) {
        if (state.shape == null) {
          before.add(Value.ofSequence(List.of()));
        } else {
          Value value = input(inner, state.type, state.physical(), inputs);
          before.add(state.isList ? Value.ofRows(value) : value);
        }
      }
      List<Integer> captured = new ArrayList<>();
      Scope bridge = new Scope(node.scope(), value -> capture(inner, value, captured));
      List<Value> results = body.convert(inner, bridge, index, before);
      boolean isSame = true;
      for (int i = 0; i < states.size(); i++) {
        State state = states.get(i).with(State.of(results.get(i + 1)));
        isSame &= states.get(i).isSame(state);
        states.set(i, state);
      }
      if (isSame) {
        return finish(goesOn, first, states, inner, inputs, index, results, captured);
      }
    }
  }

  private List<Value> finish(
      Value goesOn,
      List<Value> first,
      List<State> states,
      GraphConverter inner,
      List<Integer> inputs,
      Value index,
      List<Value> results,
      List<Integer> captured) {
    Ops ops = node.ops();
    List<Value> after = new ArrayList<>();
    after.add(inner.ops().add(index, 1));
    after.add(inner.ops().reshape(results.getFirst()));
    for (int i = 0; i < states.size(); i++) {
      node.require(states.get(i).shape != null, "a list goes round in it that stays empty");
      after.add(physical(inner.ops(), results.get(i + 1), states.get(i)));
    }
    List<Integer> rowInputs = new ArrayList<>();
    List<Value> rows = results.subList(states.size() + 1, results.size());
    for (Value row : rows) {
      node.require(
          !row.isSequence() && !row.isOpen() && row.count() > 0,
          "it gathers " + row.text() + ", of which it does not know the size");
      Value gathered = input(inner, row.type(), Dims.insert(row.shape(), 0, 0), rowInputs);
      after.add(appended(inner.ops(), gathered, row));
    }
    inputs.addAll(rowInputs);
    Value limit = most == null ? null : capture(inner, most, captured);
    inputs.addAll(captured);
    int bodyGraph = inner.finishInner(inputs, after);
    List<Integer> arguments = new ArrayList<>();
    arguments.add(ops.builder().subgraph(condition(inner, inputs, limit)));
    arguments.add(ops.builder().subgraph(bodyGraph));
    arguments.add(ops.operand(ops.number(DataType.INT64, 0)));
    arguments.add(ops.operand(ops.reshape(goesOn)));
    for (int i = 0; i < states.size(); i++) {
      arguments.add(ops.operand(physical(ops, first.get(i), states.get(i))));
    }
    for (Value row : rows) {
      int[] one = Dims.insert(row.shape(), 0, 1);
      arguments.add(ops.operand(ops.fill(row.type(), one, 0)));
    }
    for (Value value : given) {
      arguments.add(ops.operand(value));
    }
    return results(states, rows, arguments);
  }

  /** The value of which the operand goes round. */
  private static Value physical(Ops ops, Value value, State state) {
    Value whole = value;
    if (value.rows() != null) {
      whole = value.rows();
    } else if (value.parts() != null) {
      whole =
          value.parts().isEmpty()
              ? ops.fill(state.type, state.physical(), 0)
              : ops.stack(value.parts(), 0);
    }
    return whole.isConstant() && whole.count() == 0
        ? OpenSizes.empty(ops, whole.type(), whole.shape())
        : whole;
  }

  private List<Value> results(List<State> states, List<Value> rows, List<Integer> arguments) {
    Ops ops = node.ops();
    List<Value> found = new ArrayList<>();
    found.add(ops.temporary(DataType.INT64, new int[0]));
    found.add(ops.temporary(DataType.BOOL, new int[0]));
    for (State state : states) {
      found.add(ops.temporary(state.type, state.physical()));
    }
    for (Value row : rows) {
      found.add(ops.temporary(row.type(), Dims.insert(row.shape(), 0, 0)));
    }
    ops.addUnchecked(OperationCode.WHILE, arguments, found.stream().map(Value::operand).toList());
    List<Value> outputs = new ArrayList<>(found.subList(FIRST_STATE, found.size()));
    for (int i = 0; i < states.size(); i++) {
      outputs.set(i, states.get(i).isList ? Value.ofRows(outputs.get(i)) : outputs.get(i));
    }
    for (int i = states.size(); i < outputs.size(); i++) {
      outputs.set(i, withoutFirst(ops, outputs.get(i)));
    }
    return outputs;
  }

  private static Value appended(Ops ops, Value gathered, Value row) {
    Value last = ops.reshape(row, Dims.insert(row.shape(), 0, 1));
    return ops.emitSized(
        gathered.type(),
        gathered.shape(),
        ThalamusExtension.CONCATENATION,
        ops.operand(gathered),
        ops.operand(last),
        ops.int32(0));
  }

  private Value withoutFirst(Ops ops, Value gathered) {
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

  private static Value input(
      GraphConverter inner, DataType type, int[] shape, List<Integer> inputs) {
    Value value = inner.ops().input(type, shape);
    inputs.add(value.operand());
    return value;
  }

  /** A value of the graph around the body, as the body sees it: a constant, or one input more. */
  private Value capture(GraphConverter inner, Value value, List<Integer> inputs) {
    if (value.parts() != null) {
      return Value.ofSequence(
          value.parts().stream().map(part -> capture(inner, part, inputs)).toList());
    }
    if (value.rows() != null) {
      return Value.ofRows(capture(inner, value.rows(), inputs));
    }
    if (value.isConstant()) {
      return value.as(value.shape());
    }
    given.add(value);
    Value inside = input(inner, value.type(), value.shape(), inputs);
    return value.isOpen() ? Value.ofOpen(value.type(), value.shape(), inside.operand()) : inside;
  }

  /** The graph that says whether there is another round, with the inputs of the body. */
  private int condition(GraphConverter body, List<Integer> inputs, Value limit) {
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
}
