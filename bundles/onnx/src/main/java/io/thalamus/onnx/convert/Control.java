// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Control flow: a branch that is known stands where the condition was; both branches are computed
 * where it is not, and one chosen; loops of known length are unrolled, if it is not too large.
 */
final class Control {
  private static final int MAX_STEPS = 1024;

  private Control() {}

  static void addTo(Converters table) {
    table.add("If", Control::branch);
    table.add("Loop", Control::loop);
    table.add("Scan", Control::scan);
  }

  /** A graph among the settings. */
  static OnnxGraph graph(Node node, String name) {
    OnnxAttribute attribute = node.onnx().attributes().get(name);
    node.require(attribute != null && attribute.graph() != null, "its " + name + " is missing");
    return attribute.graph();
  }

  private static void branch(Node node) {
    OnnxGraph then = graph(node, "then_branch");
    OnnxGraph otherwise = graph(node, "else_branch");
    if (node.isKnown(0)) {
      boolean holds = node.known(0).count() == 1 && node.known(0).integer(0) != 0;
      give(node, node.graph().inline(holds ? then : otherwise, node.scope(), Map.of()));
      return;
    }
    Value condition = node.ops().reshape(node.in(0));
    List<List<Value>> branches = new ArrayList<>();
    Refusal failure = null;
    for (OnnxGraph graph : List.of(then, otherwise)) {
      try {
        branches.add(node.graph().inline(graph, node.scope(), Map.of()));
      } catch (Refusal e) {
        if (failure != null || !node.graph().knows(graph)) {
          throw e;
        }
        failure = e;
        branches.add(null);
      }
    }
    List<Value> first = branches.get(0);
    List<Value> second = branches.get(1);
    if (failure != null) {
      give(node, onlyIf(node.ops(), condition, first == null ? second : first, second == null));
      return;
    }
    node.require(first.size() == second.size(), "its branches differ in their outputs");
    List<Value> chosen = new ArrayList<>();
    for (int i = 0; i < first.size(); i++) {
      node.require(
          !first.get(i).isSequence()
              && !second.get(i).isSequence()
              && first.get(i).type() == second.get(i).type()
              && first.get(i).rank() == second.get(i).rank(),
          "its branches give " + first.get(i).text() + " and " + second.get(i).text());
    }
    boolean isAlike = true;
    for (int i = 0; i < first.size(); i++) {
      isAlike &=
          Arrays.equals(first.get(i).shape(), second.get(i).shape())
              && !first.get(i).isOpen()
              && first.get(i).count() > 0;
    }
    if (!isAlike) {
      give(node, Loops.branch(node, condition, List.of(then, otherwise)));
      return;
    }
    for (int i = 0; i < first.size(); i++) {
      chosen.add(node.ops().select(condition, first.get(i), second.get(i)));
    }
    give(node, chosen);
  }

  /**
   * The results of a branch whose other one does not fit the sizes of its inputs, as where a file
   * holds a network for each of two rates. An execution that would take the other one fails: there
   * is one slice of each result, and its number is 1 then.
   */
  private static List<Value> onlyIf(Ops ops, Value condition, List<Value> results, boolean holds) {
    Value none = ops.number(DataType.INT32, 0);
    Value beyond = ops.number(DataType.INT32, 1);
    Value slice = ops.select(condition, holds ? none : beyond, holds ? beyond : none);
    List<Value> checked = new ArrayList<>();
    for (Value result : results) {
      Emitter.require(
          !result.isSequence() && !result.isOpen() && result.count() > 0,
          "one of its branches does not fit the sizes of its inputs");
      checked.add(ops.gather(ops.reshape(result, Dims.insert(result.shape(), 0, 1)), 0, slice));
    }
    return checked;
  }

  private static void give(Node node, List<Value> values) {
    node.require(values.size() >= node.outputs(), "a branch has too few outputs");
    for (int i = 0; i < node.outputs(); i++) {
      node.out(i, values.get(i));
    }
  }

  private static void loop(Node node) {
    OnnxGraph body = graph(node, "body");
    int states = node.inputs() - 2;
    node.require(
        states >= 0
            && body.inputs().size() == states + 2
            && body.outputs().size() >= states + 1
            && node.outputs() <= body.outputs().size() - 1,
        "its body does not fit it");
    List<Value> first = IntStream.range(0, states).mapToObj(i -> node.any(i + 2)).toList();
    List<Value> state = first;
    boolean isCounted = !node.has(0) || node.isKnown(0);
    boolean isDecided = !node.has(1) || node.isKnown(1);
    long most = node.has(0) && isCounted ? (long) node.onlyNumber(0) : Long.MAX_VALUE;
    boolean goesOn = !node.has(1) || isDecided && node.onlyNumber(1) != 0;
    boolean isKnown = isCounted && isDecided && (!goesOn || most <= MAX_STEPS || !node.has(0));
    List<List<Value>> rows = new ArrayList<>();
    for (long step = 0; isKnown && step < most && goesOn; step++) {
      List<Value> results =
          round(
              node.graph(), node.scope(), body, Value.of(Tensor.ofLongs(new int[0], step)), state);
      isKnown = results.getFirst().isConstant() && step < MAX_STEPS;
      goesOn = isKnown && results.getFirst().constant().integer(0) != 0;
      state = results.subList(1, states + 1);
      rows.add(results.subList(states + 1, results.size()));
    }
    if (!isKnown) {
      counted(node, body, first);
      return;
    }
    for (int i = 0; i < states && i < node.outputs(); i++) {
      node.out(i, state.get(i));
    }
    for (int i = states; i < node.outputs(); i++) {
      if (rows.isEmpty()) {
        node.out(i, none(node, body, first, i));
        continue;
      }
      List<Value> column = column(rows, i - states);
      node.out(i, node.ops().stack(column, 0));
    }
  }

  /** The results of no rounds: of each round's shape, which a round says that nobody reads. */
  private static Value none(Node node, OnnxGraph body, List<Value> first, int output) {
    Value index = Value.of(Tensor.ofLongs(new int[0], 0));
    Value one = round(node.graph(), node.scope(), body, index, first).get(output + 1);
    node.require(!one.isOpen() && !one.isSequence(), "it has no rounds to gather results of");
    return node.ops().fill(one.type(), Dims.insert(one.shape(), 0, 0), 0);
  }

  /** A number, in the one axis that old exporters declare for it and that bodies then take away. */
  private static Value declared(Ops ops, Value number, OnnxValue input) {
    return input.dims() != null && input.dims().length == 1 ? ops.reshape(number, 1) : number;
  }

  private static List<Value> round(
      GraphConverter graph, Scope outer, OnnxGraph body, Value index, List<Value> states) {
    Map<String, Value> given = new HashMap<>();
    Value goesOn = graph.ops().number(DataType.BOOL, 1);
    given.put(body.inputs().get(0).name(), declared(graph.ops(), index, body.inputs().get(0)));
    given.put(body.inputs().get(1).name(), declared(graph.ops(), goesOn, body.inputs().get(1)));
    for (int i = 0; i < states.size(); i++) {
      given.put(body.inputs().get(i + 2).name(), states.get(i));
    }
    return graph.inline(body, outer, given);
  }

  /** A loop whose rounds only an execution counts. */
  private static void counted(Node node, OnnxGraph body, List<Value> first) {
    Value most = null;
    if (node.has(0)) {
      // What is beyond 32 bits stands for no limit.
      most =
          node.isKnown(0)
              ? node.ops().number(DataType.INT64, node.onlyInt(0))
              : node.ops().reshape(node.in(0));
    }
    Value goesOn = node.has(1) ? node.in(1) : node.ops().number(DataType.BOOL, 1);
    List<Value> results =
        Loops.convert(
            node,
            most,
            goesOn,
            first,
            0,
            (inner, outer, index, state) -> round(inner, outer, body, index, state));
    for (int i = 0; i < node.outputs(); i++) {
      node.out(i, results.get(i));
    }
  }

  private static void scan(Node node) {
    OnnxGraph body = graph(node, "body");
    int scanned = node.setting("num_scan_inputs", 0);
    boolean isOld = node.opset() < 9;
    int first = isOld ? 1 : 0;
    int states = node.inputs() - first - scanned;
    node.require(
        states >= 0
            && scanned > 0
            && body.inputs().size() == states + scanned
            && body.outputs().size() >= states
            && node.outputs() <= body.outputs().size(),
        "its body does not fit it");
    node.require(!isOld || !node.has(0), "its sequences have lengths of their own");
    int batches = isOld ? node.in(first + states).dim(0) : 1;
    List<List<Value>> results = new ArrayList<>();
    for (int batch = 0; batch < batches; batch++) {
      List<Value> inputs = new ArrayList<>();
      for (int i = first; i < node.inputs(); i++) {
        inputs.add(isOld ? node.ops().at(node.in(i), 0, batch) : node.in(i));
      }
      results.add(scan(node, body, inputs, states));
    }
    for (int i = 0; i < node.outputs(); i++) {
      List<Value> column = column(results, i);
      node.out(i, isOld ? node.ops().stack(column, 0) : column.getFirst());
    }
  }

  private static List<Value> scan(Node node, OnnxGraph body, List<Value> inputs, int states) {
    Ops ops = node.ops();
    int scanned = inputs.size() - states;
    int[] axes = node.list("scan_input_axes", scanned, 0);
    String inputWay = node.hasSetting("directions") ? "directions" : "scan_input_directions";
    int[] backwards = node.list(inputWay, scanned, 0);
    int stacked = body.outputs().size() - states;
    int[] outAxes = node.list("scan_output_axes", stacked, 0);
    int[] outBackwards = node.list("scan_output_directions", stacked, 0);
    int steps = inputs.get(states).dim(node.axis(axes[0], inputs.get(states).rank()));
    for (int i = 0; i < scanned; i++) {
      Value input = inputs.get(states + i);
      node.require(
          input.dim(node.axis(axes[i], input.rank())) == steps,
          "its sequences are of different length");
    }
    if (steps > MAX_STEPS) {
      List<Value> found =
          Loops.convert(
              node,
              ops.number(DataType.INT64, steps),
              ops.number(DataType.BOOL, 1),
              inputs.subList(0, states),
              steps,
              (inner, outer, index, state) -> {
                List<Value> slices = new ArrayList<>();
                for (int i = 0; i < scanned; i++) {
                  Value input = outer.pass(inputs.get(states + i));
                  Value place = inner.ops().cast(index, DataType.INT32);
                  if (backwards[i] != 0) {
                    place = inner.ops().sub(inner.ops().number(DataType.INT32, steps - 1), place);
                  }
                  slices.add(inner.ops().gather(input, node.axis(axes[i], input.rank()), place));
                }
                List<Value> results = step(inner, outer, body, state, slices);
                results.addFirst(inner.ops().number(DataType.BOOL, 1));
                return results;
              });
      List<Value> outputs = new ArrayList<>(found.subList(0, states));
      for (int i = 0; i < stacked; i++) {
        Value rows = found.get(states + i);
        rows = outBackwards[i] != 0 ? ops.reverse(rows, 0) : rows;
        int axis = node.axis(outAxes[i], rows.rank());
        int[] order = Dims.insert(MoveOps.others(rows.rank(), 0), axis, 0);
        outputs.add(ops.transpose(rows, order));
      }
      return outputs;
    }
    List<Value> state = inputs.subList(0, states);
    List<List<Value>> rows = new ArrayList<>();
    for (int step = 0; step < steps; step++) {
      List<Value> slices = new ArrayList<>();
      for (int i = 0; i < scanned; i++) {
        Value input = inputs.get(states + i);
        int place = backwards[i] != 0 ? steps - 1 - step : step;
        slices.add(ops.at(input, node.axis(axes[i], input.rank()), place));
      }
      List<Value> results = step(node.graph(), node.scope(), body, state, slices);
      state = results.subList(0, states);
      rows.add(results.subList(states, results.size()));
    }
    List<Value> outputs = new ArrayList<>(state);
    for (int i = 0; i < stacked; i++) {
      List<Value> column = column(rows, i);
      if (outBackwards[i] != 0) {
        column = column.reversed();
      }
      int rank = column.getFirst().rank() + 1;
      outputs.add(ops.stack(column, node.axis(outAxes[i], rank)));
    }
    return outputs;
  }

  private static List<Value> step(
      GraphConverter graph, Scope outer, OnnxGraph body, List<Value> states, List<Value> slices) {
    Map<String, Value> given = new HashMap<>();
    for (int i = 0; i < body.inputs().size(); i++) {
      int slice = i - states.size();
      given.put(body.inputs().get(i).name(), slice < 0 ? states.get(i) : slices.get(slice));
    }
    return graph.inline(body, outer, given);
  }

  private static List<Value> column(List<List<Value>> rows, int index) {
    return rows.stream().map(row -> row.get(index)).toList();
  }
}
