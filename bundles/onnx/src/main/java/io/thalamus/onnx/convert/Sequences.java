// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.List;

/** Lists of tensors, whose lengths and places are known while the model is read. */
final class Sequences {
  private Sequences() {}

  static void addTo(Converters table) {
    table.add("SequenceEmpty", node -> node.out(Value.ofSequence(List.of())));
    table.add("SequenceConstruct", Sequences::construct);
    table.add("SequenceAt", node -> node.out(node.sequence(0).get(place(node, 1, 0))));
    table.add("SequenceInsert", Sequences::insert);
    table.add("SequenceErase", Sequences::erase);
    table.add("SequenceLength", node -> node.out(Shapes.integer(node.sequence(0).size())));
    table.add("ConcatFromSequence", Sequences::concat);
    table.add("SplitToSequence", Sequences::split);
  }

  /** A place in the list, or right behind it where more is allowed; the last where none is said. */
  private static int place(Node node, int input, int more) throws ModelFormatException {
    int size = node.sequence(0).size();
    int last = size - 1 + more;
    int place = node.has(input) ? node.onlyInt(input) : last;
    int counted = place < 0 ? place + size : place;
    node.require(counted >= 0 && counted <= last, "place %s of %s".formatted(place, size));
    return counted;
  }

  private static void construct(Node node) throws ModelFormatException {
    List<Value> values = new ArrayList<>();
    for (int i = 0; i < node.inputs(); i++) {
      values.add(node.in(i));
    }
    node.out(Value.ofSequence(values));
  }

  private static void insert(Node node) throws ModelFormatException {
    List<Value> values = new ArrayList<>(node.sequence(0));
    values.add(place(node, 2, 1), node.in(1));
    node.out(Value.ofSequence(values));
  }

  private static void erase(Node node) throws ModelFormatException {
    List<Value> values = new ArrayList<>(node.sequence(0));
    values.remove(place(node, 1, 0));
    node.out(Value.ofSequence(values));
  }

  private static void concat(Node node) throws ModelFormatException {
    List<Value> values = node.sequence(0);
    node.require(!values.isEmpty(), "it joins no values");
    int rank = values.getFirst().rank();
    boolean isNew = node.flag("new_axis", false);
    int axis = node.axis(node.setting("axis", 0), isNew ? rank + 1 : rank);
    node.out(isNew ? node.ops().stack(values, axis) : node.ops().concat(values, axis));
  }

  private static void split(Node node) throws ModelFormatException {
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
