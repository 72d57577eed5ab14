// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.Selection.Update;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.List;

/** Elements replaced, or joined with others, at places that are values themselves. */
final class Scatter {
  private Scatter() {}

  static void addTo(Converters table) {
    table.add("Scatter", Scatter::elements);
    table.add("ScatterElements", Scatter::elements);
    table.add("ScatterND", Scatter::slices);
    table.add("TensorScatter", Scatter::cache);
  }

  private static void elements(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    Value indexes = node.openIn(1);
    Value updates = node.openIn(2);
    node.require(data.rank() == indexes.rank(), "data and indexes differ in rank");
    int axis = node.axis(node.setting("axis", 0), data.rank());
    if (data.isOpen() || indexes.isOpen()) {
      Value tuples = Indexing.tuples(ops, data, indexes, axis);
      node.out(scattered(node, data, tuples, updates, update(node)));
      return;
    }
    Value places = Indexing.flatPlaces(ops, data.shape(), indexes, axis);
    node.out(flat(node, data, places, updates, update(node)));
  }

  private static void slices(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    Value indexes = node.openIn(1);
    int tuple = indexes.rank() == 0 ? 0 : indexes.dim(indexes.rank() - 1);
    node.require(tuple > 0 && tuple <= data.rank(), "its indexes do not fit " + data.text());
    Value index = Indexing.counted(ops, indexes, Indexing.sizes(ops, data, 0, tuple));
    node.out(scattered(node, data, index, node.openIn(2), update(node)));
  }

  /** A part of a cache along its last but one dimension, from a place on for each batch. */
  private static void cache(Node node) {
    Ops ops = node.ops();
    Value data = node.in(0);
    Value updates = node.in(1);
    int axis = node.axis(node.setting("axis", -2), data.rank());
    String mode = node.text("mode", "linear");
    node.require(
        axis > 0 && (mode.equals("linear") || mode.equals("circular")), "its mode is " + mode);
    Value start =
        node.has(2)
            ? ops.reshape(
                ops.cast(node.in(2), DataType.INT32), Dims.along(data.rank(), 0, data.dim(0)))
            : ops.number(DataType.INT32, 0);
    Value step = ops.range(Dims.along(data.rank(), axis, updates.dim(axis)));
    Value place = ops.add(start, step);
    if (mode.equals("circular")) {
      place = ops.remainder(place, ops.number(DataType.INT32, data.dim(axis)), false);
    }
    Value places = Indexing.flatPlaces(ops, data.shape(), ops.expand(place, updates.shape()), axis);
    node.out(flat(node, data, places, updates, Update.REPLACE));
  }

  private static Update update(Node node) {
    String reduction = node.text("reduction", "none");
    return switch (reduction) {
      case "none" -> Update.REPLACE;
      case "add" -> Update.ADD;
      case "mul" -> Update.MULTIPLY;
      case "max" -> Update.MAXIMUM;
      case "min" -> Update.MINIMUM;
      default -> throw node.refuse("its reduction is " + reduction);
    };
  }

  /** The data with updates of single elements, at places in the order of the data. */
  static Value flat(Node node, Value data, Value places, Value updates, Update update) {
    Ops ops = node.ops();
    Value tuples = ops.reshape(places, places.count(), 1);
    Value result = scattered(node, ops.flat(data), tuples, ops.flat(updates), update);
    return ops.reshape(result, data.shape());
  }

  /** The data with updates of the slices at tuples of indexes. */
  private static Value scattered(
      Node node, Value data, Value tuples, Value updates, Update update) {
    Ops ops = node.ops();
    node.require(data.type() == updates.type(), "its updates are of another type");
    boolean isOpen = data.isOpen() || tuples.isOpen() || updates.isOpen();
    if (tuples.isConstant() && !isOpen && update == Update.REPLACE) {
      return known(node, data, tuples, updates);
    }
    DataType type = data.type();
    if (update != Update.REPLACE && !type.isFloat() && type != DataType.INT32) {
      boolean isOrdered = update == Update.MAXIMUM || update == Update.MINIMUM;
      node.require(type != DataType.UINT32 || !isOrdered, "it compares UINT32");
      Value whole = ops.cast(data, DataType.INT32);
      Value wholes = ops.cast(updates, DataType.INT32);
      return ops.cast(scattered(node, whole, tuples, wholes, update), type);
    }
    return ops.emitSized(
        type,
        data.shape(),
        ThalamusExtension.SCATTER_ND,
        ops.operand(data),
        ops.operand(tuples),
        ops.operand(updates),
        ops.int32(update.code()));
  }

  /** Takes each slice from the data or from the updates, of which the last one counts. */
  private static Value known(Node node, Value data, Value tuples, Value updates) {
    Ops ops = node.ops();
    int tuple = tuples.dim(tuples.rank() - 1);
    int[] sizes = Arrays.copyOf(data.shape(), tuple);
    int[] strides = Dims.strides(sizes);
    int width = Dims.count(data.shape(), tuple, data.rank());
    int count = tuples.count() / tuple;
    node.require(updates.count() == count * width, "its updates do not fit " + tuples.text());
    int[] from = ops.budget().range(Dims.count(sizes));
    for (int i = 0; i < count; i++) {
      int place = 0;
      for (int j = 0; j < tuple; j++) {
        long index = tuples.constant().integer(i * tuple + j);
        node.require(index >= 0 && index < sizes[j], "an index is out of bounds");
        place += (int) index * strides[j];
      }
      from[place] = from.length + i;
    }
    Value rows = ops.reshape(data, from.length, width);
    Value both = ops.concat(List.of(rows, ops.reshape(updates, count, width)), 0);
    return ops.reshape(
        ops.gather(both, 0, ops.integers(new int[] {from.length}, from)), data.shape());
  }
}
