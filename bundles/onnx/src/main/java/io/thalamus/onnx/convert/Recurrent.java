// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Recurrent cells: LSTM as NNAPI's operation on sequences where it means the same, all else step by
 * step in arithmetic, in a loop where there are many steps or only an execution counts them.
 */
final class Recurrent {
  private static final int MAX_STEPS = 1024;
  private static final int TANH = 4;

  private static final List<String> PLAIN = List.of("Sigmoid", "Tanh", "Tanh");

  private Recurrent() {}

  static void addTo(Converters table) {
    table.add("LSTM", node -> run(node, 4, node.in(1), node.in(2), false));
    table.add("GRU", node -> run(node, 3, node.in(1), node.in(2), false));
    table.add("RNN", node -> run(node, 1, node.in(1), node.in(2), false));
  }

  /**
   * The settings and inputs of one direction.
   *
   * @param ops where its operations go
   * @param isStored whether what is multiplied by weights is rounded to 8 bits before
   */
  private record Cell(
      Node node,
      Ops ops,
      int size,
      Value weights,
      Value recurrent,
      Value bias,
      Value peepholes,
      List<CellFunction> activations,
      double clip,
      boolean isStored) {

    /** The same cell as a graph sees it that a loop of this one refers to. */
    Cell within(Ops inner, Scope outer) {
      return new Cell(
          node,
          inner,
          size,
          outer.pass(weights),
          outer.pass(recurrent),
          outer.pass(bias),
          peepholes == null ? null : outer.pass(peepholes),
          activations,
          clip,
          isStored);
    }

    /** The rows of a matrix that belong to a gate. */
    Value gate(Value matrix, int gate) {
      return ops.part(matrix, 0, gate * size, size);
    }

    Value activated(int index, Value value) {
      return reached(index, clip > 0 ? ops.min(ops.max(value, -clip), clip) : value);
    }

    /** The same without the limits, which ONNX Runtime spares the cells of an LSTM. */
    Value reached(int index, Value limited) {
      return activations.get(index).of(ops, limited);
    }
  }

  /**
   * Converts a layer whose weights are {@code [directions, gates * size, columns]}.
   *
   * @param isStored whether what is multiplied by weights is rounded to 8 bits before; it is not in
   *     sequences that are not written out
   */
  static void run(Node node, int gates, Value weights, Value recurrent, boolean isStored) {
    Ops ops = node.ops();
    boolean isBatchFirst = node.flag("layout", false);
    Value given = node.openIn(0);
    Value input = isBatchFirst ? ops.transpose(given, 1, 0, 2) : given;
    node.require(
        input.rank() == 3 && weights.rank() == 3 && recurrent.rank() == 3,
        "its inputs have not 3 dimensions");
    int steps = input.dim(0);
    int batch = input.dim(1);
    int size = recurrent.dim(2);
    boolean isOpen = input.isOpen() && steps == 0;
    node.require(
        !input.isOpen() || isOpen && batch > 0 && input.dim(2) > 0,
        input.text() + " has another open size than that of its steps");
    String direction = node.text("direction", "forward");
    int directions = direction.equals("bidirectional") ? 2 : 1;
    node.require(
        weights.dim(0) == directions && weights.dim(1) == gates * size,
        "its weights " + weights.text() + " do not fit " + size + " cells");
    boolean isWhole =
        !node.has(4)
            || !isOpen
                && node.isKnown(4)
                && Arrays.stream(node.ints(4)).allMatch(length -> length == steps);
    Value lengths = isWhole ? null : ops.cast(node.in(4), DataType.INT32);
    node.require(isWhole || lengths.count() == batch, "its lengths are not " + batch);
    List<CellFunction> activations = CellFunction.of(node, directions, gates);
    int each = activations.size() / directions;
    List<Value> all = new ArrayList<>();
    List<Value> lastHidden = new ArrayList<>();
    List<Value> lastCell = new ArrayList<>();
    for (int d = 0; d < directions; d++) {
      boolean isReverse = d == 1 || direction.equals("reverse");
      Value bias =
          node.has(3)
              ? ops.at(node.in(3), 0, d)
              : ops.fill(input.type(), new int[] {2 * gates * size}, 0);
      Cell cell =
          new Cell(
              node,
              ops,
              size,
              ops.at(weights, 0, d),
              ops.at(recurrent, 0, d),
              bias,
              gates == 4 && node.has(7) ? ops.at(node.in(7), 0, d) : null,
              activations.subList(d * each, d * each + each),
              node.real("clip", 0),
              isStored && !isOpen && steps <= MAX_STEPS);
      List<Value> states = new ArrayList<>();
      states.add(state(node, 5, d, batch, size, isBatchFirst));
      if (gates == 4) {
        states.add(state(node, 6, d, batch, size, isBatchFirst));
      }
      boolean isOperation =
          gates == 4
              && isPlain(cell, input)
              && (lengths == null || !isOpen && (steps <= MAX_STEPS || !node.wants(2)));
      if (isOperation || !isOpen && steps <= MAX_STEPS) {
        all.add(whole(cell, input, lengths, isReverse, states));
      } else {
        all.add(loop(cell, input, lengths, isReverse, states));
      }
      if (lengths != null) {
        // ONNX Runtime's states of what has no steps are 0, whatever the first ones are.
        Value isNone = ops.binary(Binary.EQUAL, lengths, ops.number(DataType.INT32, 0));
        Value eachNone = ops.reshape(isNone, batch, 1);
        states.replaceAll(state -> ops.select(eachNone, ops.number(state.type(), 0), state));
      }
      lastHidden.add(states.get(0));
      if (gates == 4) {
        lastCell.add(states.get(1));
      }
    }
    int axis = isBatchFirst ? 1 : 0;
    if (node.wants(0)) {
      Value joined = stack(ops, all);
      node.out(0, isBatchFirst ? ops.transpose(joined, 2, 0, 1, 3) : joined);
    }
    node.out(1, ops.stack(lastHidden, axis));
    if (gates == 4) {
      node.out(2, ops.stack(lastCell, axis));
    }
  }

  /** The directions behind each other, as the second axis. */
  private static Value stack(Ops ops, List<Value> all) {
    if (!all.getFirst().isOpen()) {
      return ops.stack(all, 1);
    }
    List<Value> parts = all.stream().map(each -> OpenSizes.expandDims(ops, each, 1)).toList();
    return parts.size() == 1 ? parts.getFirst() : ops.concat(parts, 1);
  }

  /** All outputs of one direction, whose steps are written out; the states become the last ones. */
  private static Value whole(
      Cell cell, Value input, Value lengths, boolean isReverse, List<Value> states) {
    Ops ops = cell.ops();
    Value isIn = lengths == null ? null : isIn(ops, lengths, input.dim(0));
    Value data = isReverse ? reversed(ops, input, lengths) : input;
    List<Value> first = List.copyOf(states);
    Value outputs =
        cell.isStored() ? stored(cell, data, states, isIn) : sequence(cell, data, states);
    if (lengths != null) {
      states.set(0, last(ops, outputs, lengths));
      outputs = ops.select(isIn, outputs, ops.number(outputs.type(), 0));
      if (states.size() == 2 && cell.node().wants(2) && !cell.isStored()) {
        states.set(1, lastCell(cell, data, first, isIn));
      }
    }
    return isReverse ? reversed(ops, outputs, lengths) : outputs;
  }

  /**
   * The same in a loop over the steps. Against their order a state stays as it is until the end of
   * its sequence is reached.
   */
  private static Value loop(
      Cell cell, Value input, Value lengths, boolean isReverse, List<Value> states) {
    Ops ops = cell.ops();
    int batch = input.dim(1);
    Value count = OpenSizes.size(ops, input, 0);
    List<Value> found =
        Loops.convert(
            cell.node(),
            count,
            ops.number(DataType.BOOL, 1),
            states,
            input.dim(0),
            (graph, outer, index, before) -> {
              Ops inner = graph.ops();
              Value place = inner.cast(index, DataType.INT32);
              if (isReverse) {
                Value last = inner.add(inner.cast(outer.pass(count), DataType.INT32), -1);
                place = inner.sub(last, place);
              }
              Value x = inner.gather(outer.pass(input), 0, place);
              List<Value> after = new ArrayList<>(before);
              step(cell.within(inner, outer), x, after);
              Value row = after.getFirst();
              if (lengths != null) {
                Value each = inner.reshape(outer.pass(lengths), batch, 1);
                Value isIn = inner.binary(Binary.LESS, place, each);
                for (int i = 0; i < after.size(); i++) {
                  after.set(i, inner.select(isIn, after.get(i), before.get(i)));
                }
                row = inner.select(isIn, row, inner.number(row.type(), 0));
              }
              after.addFirst(inner.number(DataType.BOOL, 1));
              after.add(row);
              return after;
            });
    for (int i = 0; i < states.size(); i++) {
      states.set(i, found.get(i));
    }
    return isReverse ? ops.reverse(found.getLast(), 0) : found.getLast();
  }

  /** For each step and sequence whether the step is one of it. */
  private static Value isIn(Ops ops, Value lengths, int steps) {
    int batch = lengths.count();
    Value step = ops.range(steps, 1);
    Value row = ops.reshape(lengths, 1, batch);
    return ops.reshape(ops.binary(Binary.LESS, step, row), steps, batch, 1);
  }

  private static Value reversed(Ops ops, Value value, Value lengths) {
    return lengths == null ? ops.reverse(value, 0) : Indexing.reversed(ops, value, lengths);
  }

  /** The output at the end of each sequence that has steps. */
  private static Value last(Ops ops, Value outputs, Value lengths) {
    int batch = outputs.dim(1);
    Value line = ops.mul(ops.max(ops.add(ops.flat(lengths), -1), 0), batch);
    Value place = ops.add(line, ops.range(batch));
    Value lines = ops.reshape(outputs, outputs.dim(0) * batch, outputs.dim(2));
    return ops.gather(lines, 0, place);
  }

  /**
   * The state of the cells at the end of each sequence, which no operation gives but step by step.
   */
  private static Value lastCell(Cell cell, Value input, List<Value> first, Value isIn) {
    Ops ops = cell.ops();
    List<Value> states = new ArrayList<>(first);
    for (int step = 0; step < input.dim(0); step++) {
      List<Value> before = List.copyOf(states);
      lstmStep(cell, sums(cell, ops.at(input, 0, step), states.get(0)), states);
      Value goesOn = ops.at(isIn, 0, step);
      for (int i = 0; i < 2; i++) {
        states.set(i, ops.select(goesOn, states.get(i), before.get(i)));
      }
    }
    return states.get(1);
  }

  private static Value state(
      Node node, int input, int direction, int batch, int size, boolean isBatchFirst) {
    if (!node.has(input)) {
      return node.ops().fill(node.openIn(0).type(), new int[] {batch, size}, 0);
    }
    return node.ops().at(node.in(input), isBatchFirst ? 1 : 0, direction);
  }

  /** All outputs of one direction; the states become the last ones. */
  private static Value sequence(Cell cell, Value input, List<Value> states) {
    if (states.size() == 2 && isPlain(cell, input)) {
      return lstm(cell, input, states);
    }
    Ops ops = cell.ops();
    List<Value> outputs = new ArrayList<>();
    for (int step = 0; step < input.dim(0); step++) {
      step(cell, ops.at(input, 0, step), states);
      outputs.add(states.getFirst());
    }
    return ops.stack(outputs, 0);
  }

  private static void step(Cell cell, Value x, List<Value> states) {
    switch (cell.activations().size()) {
      case 3 -> lstmStep(cell, sums(cell, x, states.getFirst()), states);
      case 2 -> gruStep(cell, x, states);
      default -> states.set(0, cell.activated(0, sum(cell, x, states.getFirst(), 0, 1)));
    }
  }

  /**
   * The weighted sum of input and state for a gate, with both biases.
   *
   * @param gates how many gates there are
   */
  private static Value sum(Cell cell, Value x, Value h, int gate, int gates) {
    Ops ops = cell.ops();
    return ops.add(
        product(cell, x, cell.weights(), gate, gate),
        product(cell, h, cell.recurrent(), gate, gates + gate));
  }

  private static Value product(Cell cell, Value x, Value matrix, int gate, int bias) {
    Ops ops = cell.ops();
    return ops.fullyConnected(x, cell.gate(matrix, gate), cell.gate(cell.bias(), bias));
  }

  private static void gruStep(Cell cell, Value x, List<Value> states) {
    Ops ops = cell.ops();
    Value h = states.getFirst();
    Value update = cell.activated(0, sum(cell, x, h, 0, 3));
    Value reset = cell.activated(0, sum(cell, x, h, 1, 3));
    Value fromInput = product(cell, x, cell.weights(), 2, 2);
    Value fromState;
    if (cell.node().flag("linear_before_reset", false)) {
      fromState = ops.mul(reset, product(cell, h, cell.recurrent(), 2, 5));
    } else {
      fromState = product(cell, ops.mul(reset, h), cell.recurrent(), 2, 5);
    }
    Value fresh = cell.activated(1, ops.add(fromInput, fromState));
    Value rest = ops.sub(ops.number(x.type(), 1), update);
    states.set(0, ops.add(ops.mul(rest, fresh), ops.mul(update, h)));
  }

  /** The weighted sums of the four gates of an LSTM, in ONNX's order i, o, f, c. */
  private static List<Value> sums(Cell cell, Value x, Value h) {
    return IntStream.range(0, 4).mapToObj(gate -> sum(cell, x, h, gate, 4)).toList();
  }

  private static void lstmStep(Cell cell, List<Value> sums, List<Value> states) {
    Ops ops = cell.ops();
    Value c = states.get(1);
    Value in = cell.activated(0, peeped(cell, sums.get(0), c, 0));
    Value forget =
        cell.node().flag("input_forget", false)
            ? ops.sub(ops.number(in.type(), 1), in)
            : cell.activated(0, peeped(cell, sums.get(2), c, 2));
    Value fresh = cell.activated(1, sums.get(3));
    Value next = ops.add(ops.mul(forget, c), ops.mul(in, fresh));
    Value out = cell.activated(0, peeped(cell, sums.get(1), next, 1));
    states.set(0, ops.mul(out, cell.reached(2, next)));
    states.set(1, next);
  }

  /**
   * All outputs of one direction as ONNX Runtime computes them with one thread: all inputs are
   * rounded together, and at each step the states of all sequences, of which those that have ended
   * are 0. The states become the last ones.
   */
  private static Value stored(Cell cell, Value input, List<Value> states, Value isIn) {
    Ops ops = cell.ops();
    int steps = input.dim(0);
    int batch = input.dim(1);
    Value rows = ops.reshape(Quantization.rounded(ops, input), steps * batch, input.dim(2));
    Value bias =
        ops.add(
            ops.part(cell.bias(), 0, 0, 4 * cell.size()),
            ops.part(cell.bias(), 0, 4 * cell.size(), 4 * cell.size()));
    Value fromInput =
        ops.reshape(ops.fullyConnected(rows, cell.weights(), bias), steps, batch, 4 * cell.size());
    Value none = ops.fill(DataType.FLOAT, new int[] {4 * cell.size()}, 0);
    Value zero = ops.number(DataType.FLOAT, 0);
    List<Value> outputs = new ArrayList<>();
    for (int step = 0; step < steps; step++) {
      Value before = states.get(1);
      Value h = Quantization.rounded(ops, states.getFirst());
      Value all =
          ops.add(ops.at(fromInput, 0, step), ops.fullyConnected(h, cell.recurrent(), none));
      List<Value> sums =
          IntStream.range(0, 4)
              .mapToObj(gate -> ops.part(all, 1, gate * cell.size(), cell.size()))
              .toList();
      lstmStep(cell, sums, states);
      if (isIn != null) {
        Value goesOn = ops.at(isIn, 0, step);
        states.set(0, ops.select(goesOn, states.get(0), zero));
        states.set(1, ops.select(goesOn, states.get(1), before));
      }
      outputs.add(states.getFirst());
    }
    return ops.stack(outputs, 0);
  }

  /** A sum with a part of the cell's state, where there are peepholes; in ONNX's order i, o, f. */
  private static Value peeped(Cell cell, Value sum, Value state, int index) {
    return cell.peepholes() == null
        ? sum
        : cell.ops().add(sum, cell.ops().mul(state, cell.gate(cell.peepholes(), index)));
  }

  private static boolean isPlain(Cell cell, Value input) {
    return cell.peepholes() == null
        && cell.clip() == 0
        && cell.activations().stream().map(CellFunction::name).toList().equals(PLAIN)
        && !cell.node().flag("input_forget", false)
        && cell.weights().isConstant()
        && cell.recurrent().isConstant()
        && cell.bias().isConstant()
        && input.type() == DataType.FLOAT;
  }

  /** NNAPI's sequence: gates in the order i, f, c, o, where ONNX has i, o, f, c. */
  private static Value lstm(Cell cell, Value input, List<Value> states) {
    Ops ops = cell.ops();
    int[] order = {0, 2, 3, 1};
    List<Integer> inputs = new ArrayList<>();
    inputs.add(ops.operand(input));
    for (int gate : order) {
      inputs.add(ops.operand(cell.gate(cell.weights(), gate)));
    }
    for (int gate : order) {
      inputs.add(ops.operand(cell.gate(cell.recurrent(), gate)));
    }
    int none = ops.omitted(input.type());
    inputs.addAll(List.of(none, none, none));
    for (int gate : order) {
      Value both = ops.add(cell.gate(cell.bias(), gate), cell.gate(cell.bias(), 4 + gate));
      inputs.add(ops.operand(both));
    }
    inputs.addAll(List.of(none, none));
    inputs.add(ops.operand(states.get(0)));
    inputs.add(ops.operand(states.get(1)));
    inputs.addAll(List.of(ops.int32(TANH), ops.real(0), ops.real(0), ops.bool(true)));
    inputs.addAll(List.of(none, none, none, none));
    List<Value> results =
        ops.emitOpen(
            OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
            inputs,
            input.type(),
            input.type(),
            input.type());
    states.set(0, results.get(1));
    states.set(1, results.get(2));
    return results.getFirst();
  }
}
