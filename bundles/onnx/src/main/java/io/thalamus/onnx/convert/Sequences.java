// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Lists of tensors, whose lengths and places are known while the model is read, and what may be
 * left out.
 */
final class Sequences {
  private Sequences() {}

  static void addTo(Converters table) {
    table.add("SequenceEmpty", node -> node.out(Value.ofSequence(List.of())));
    table.add("SequenceConstruct", Sequences::construct);
    table.add("SequenceAt", Sequences::at);
    table.add("SequenceInsert", Sequences::insert);
    table.add("SequenceErase", Sequences::erase);
    table.add("SequenceLength", Sequences::length);
    table.add("ConcatFromSequence", Sequences::concat);
    table.add("SplitToSequence", Sequences::split);
    table.add("SequenceMap", Sequences::map);
    table.add("Optional", node -> node.out(node.has(0) ? node.any(0) : Value.NONE));
    table.add("OptionalHasElement", Sequences::hasElement);
    table.add("OptionalGetElement", Sequences::element);
  }

  /** A place in the list, or right behind it where more is allowed; the last where none is said. */
  private static int place(Node node, int input, int more) {
    int size = node.sequence(0).size();
    int last = size - 1 + more;
    int place = node.has(input) ? node.onlyInt(input) : last;
    int counted = place < 0 ? place + size : place;
    node.require(counted >= 0 && counted <= last, "place %s of %s".formatted(place, size));
    return counted;
  }

  private static void hasElement(Node node) {
    boolean isThere = node.has(0) && node.any(0) != Value.NONE;
    node.out(node.ops().number(DataType.BOOL, isThere ? 1 : 0));
  }

  private static void element(Node node) {
    Value value = node.any(0);
    node.require(value != Value.NONE, "'" + node.onnx().inputs().getFirst() + "' has no element");
    node.out(value);
  }

  /** A graph for each value of a list; of its other inputs, lists have as many values. */
  private static void map(Node node) {
    OnnxGraph body = Control.graph(node, "body");
    int size = node.sequence(0).size();
    node.require(
        body.inputs().size() == node.inputs() && body.outputs().size() >= node.outputs(),
        "its body does not fit it");
    List<List<Value>> rounds = new ArrayList<>();
    for (int round = 0; round < size; round++) {
      Map<String, Value> given = new HashMap<>();
      for (int i = 0; i < node.inputs(); i++) {
        Value input = node.any(i);
        if (input.isSequence()) {
          node.require(node.sequence(i).size() == size, "its lists are of different length");
          input = node.sequence(i).get(round);
        }
        given.put(body.inputs().get(i).name(), input);
      }
      rounds.add(node.graph().inline(body, node.scope(), given));
    }
    for (int i = 0; i < node.outputs(); i++) {
      int output = i;
      node.out(i, Value.ofSequence(rounds.stream().map(values -> values.get(output)).toList()));
    }
  }

  private static void construct(Node node) {
    node.out(Value.ofSequence(IntStream.range(0, node.inputs()).mapToObj(node::in).toList()));
  }

  private static void at(Node node) {
    Value rows = node.any(0).rows();
    Ops ops = node.ops();
    if (rows == null && node.isKnown(1)) {
      node.out(node.sequence(0).get(place(node, 1, 0)));
      return;
    }
    Value place = ops.reshape(ops.cast(node.in(1), DataType.INT32));
    if (rows == null) {
      List<Value> values = node.sequence(0);
      int[] shape = values.isEmpty() ? new int[0] : values.getFirst().shape();
      node.require(
          !values.isEmpty()
              && values.stream().allMatch(value -> Arrays.equals(value.shape(), shape)),
          "it takes one of values of different sizes");
      Value counted = Indexing.counted(ops, place, ops.number(DataType.INT32, values.size()));
      node.out(ops.gather(ops.stack(values, 0), 0, counted));
      return;
    }
    Value size = ops.cast(OpenSizes.size(ops, rows, 0), DataType.INT32);
    node.out(ops.gather(rows, 0, Indexing.counted(ops, place, size)));
  }

  private static void length(Node node) {
    Value rows = node.any(0).rows();
    node.out(
        rows == null
            ? Shapes.integer(node.sequence(0).size())
            : OpenSizes.size(node.ops(), rows, 0));
  }

  private static void insert(Node node) {
    Value rows = node.any(0).rows();
    if (rows != null) {
      Ops ops = node.ops();
      Value value = node.in(1);
      node.require(!node.has(2), "it inserts into a list that grows otherwise than at its end");
      node.require(
          value.type() == rows.type()
              && Arrays.equals(Dims.insert(value.shape(), 0, 0), rows.shape()),
          value.text() + " is not like the values of its list");
      Value row = ops.reshape(value, Dims.insert(value.shape(), 0, 1));
      node.out(Value.ofRows(ops.concat(List.of(rows, row), 0)));
      return;
    }
    List<Value> values = new ArrayList<>(node.sequence(0));
    values.add(place(node, 2, 1), node.in(1));
    node.out(Value.ofSequence(values));
  }

  private static void erase(Node node) {
    List<Value> values = new ArrayList<>(node.sequence(0));
    values.remove(place(node, 1, 0));
    node.out(Value.ofSequence(values));
  }

  private static void concat(Node node) {
    if (node.any(0).rows() != null) {
      node.out(joined(node, node.any(0).rows()));
      return;
    }
    List<Value> values = node.sequence(0);
    node.require(!values.isEmpty(), "it joins no values");
    int rank = values.getFirst().rank();
    boolean isNew = node.flag("new_axis", false);
    int axis = node.axis(node.setting("axis", 0), isNew ? rank + 1 : rank);
    node.out(isNew ? node.ops().stack(values, axis) : node.ops().concat(values, axis));
  }

  /** The rows of a list side by side along another axis, which may be a new one. */
  private static Value joined(Node node, Value rows) {
    Ops ops = node.ops();
    boolean isNew = node.flag("new_axis", false);
    int axis = node.axis(node.setting("axis", 0), isNew ? rows.rank() : rows.rank() - 1);
    int[] order = Dims.insert(MoveOps.others(rows.rank(), 0), axis, 0);
    Value moved = ops.transpose(rows, order);
    int[] shape = moved.shape();
    return isNew ? moved : ops.reshape(moved, Dims.with(Dims.remove(shape, axis), axis, 0));
  }

  private static void split(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int axis = node.axis(node.setting("axis", 0), value.rank());
    int size = value.dim(axis);
    int[] given = node.has(1) ? node.ints(1) : new int[] {1};
    boolean isEqual = !node.has(1) || node.in(1).rank() == 0;
    node.require(!isEqual || given[0] > 0, "its parts are " + given[0] + " long");
    boolean keepsAxis = node.has(1) || node.flag("keepdims", true);
    List<Value> parts = new ArrayList<>();
    int start = 0;
    for (int i = 0; isEqual ? start < size : i < given.length; i++) {
      int part = isEqual ? Math.min(given[0], size - start) : given[i];
      node.require(part >= 0 && part <= size - start, "its parts do not fit " + value.text());
      Value cut = ops.part(value, axis, start, part);
      parts.add(keepsAxis ? cut : ops.reshape(cut, Dims.remove(value.shape(), axis)));
      start += part;
    }
    node.require(start == size, "its parts do not make up " + value.text());
    node.out(Value.ofSequence(parts));
  }
}
