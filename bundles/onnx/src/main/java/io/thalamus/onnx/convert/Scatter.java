// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;
import java.util.List;

/**
 * Elements replaced at places that are values themselves. NNAPI writes nothing in place: each row
 * of the result looks for the updates that are meant for it.
 */
final class Scatter {
  /** Rows times updates; beyond that the search would take more than the network. */
  private static final long MOST_PAIRS = 1 << 24;

  private Scatter() {}

  static void addTo(Converters table) {
    table.add("Scatter", Scatter::elements);
    table.add("ScatterElements", Scatter::elements);
    table.add("ScatterND", Scatter::slices);
    table.add("TensorScatter", Scatter::cache);
  }

  private static void elements(Node node) {
    Ops ops = node.ops();
    Value data = node.in(0);
    Value updates = node.in(2);
    int axis = node.axis(node.setting("axis", 0), data.rank());
    Value places = Indexing.flatPlaces(ops, data.shape(), node.in(1), axis);
    Value result =
        scattered(
            node,
            ops.reshape(data, data.count(), 1),
            ops.flat(places),
            ops.reshape(updates, updates.count(), 1));
    node.out(ops.reshape(result, data.shape()));
  }

  private static void slices(Node node) {
    Ops ops = node.ops();
    Value data = node.in(0);
    Value indexes = node.in(1);
    int tuple = indexes.dim(indexes.rank() - 1);
    node.require(tuple > 0 && tuple <= data.rank(), "its indexes do not fit " + data.text());
    int[] sizes = Arrays.copyOf(data.shape(), tuple);
    int rows = Dims.count(sizes);
    int width = data.count() / rows;
    Value size = ops.integers(new int[] {tuple}, sizes);
    Value index = Indexing.counted(ops, indexes, size);
    Value factors = ops.integers(new int[] {tuple}, Dims.strides(sizes));
    Value sum = ops.reduce(Reduction.SUM, ops.mul(index, factors), indexes.rank() - 1);
    Value result =
        scattered(
            node,
            ops.reshape(data, rows, width),
            ops.flat(sum),
            ops.reshape(node.in(2), indexes.count() / tuple, width));
    node.out(ops.reshape(result, data.shape()));
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
    int[] shape = new int[data.rank()];
    Arrays.fill(shape, 1);
    shape[0] = data.dim(0);
    Value start =
        node.has(2)
            ? ops.reshape(ops.cast(node.in(2), DataType.INT32), shape)
            : ops.number(DataType.INT32, 0);
    int[] along = new int[data.rank()];
    Arrays.fill(along, 1);
    along[axis] = updates.dim(axis);
    Value step = ops.integers(along, ops.budget().range(updates.dim(axis)));
    Value place = ops.add(start, step);
    if (mode.equals("circular")) {
      place = ops.remainder(place, ops.number(DataType.INT32, data.dim(axis)), false);
    }
    Value places = Indexing.flatPlaces(ops, data.shape(), ops.expand(place, updates.shape()), axis);
    Value result =
        scattered(
            node,
            ops.reshape(data, data.count(), 1),
            ops.flat(places),
            ops.reshape(updates, updates.count(), 1));
    node.out(ops.reshape(result, data.shape()));
  }

  /**
   * Rows with updates.
   *
   * @param rows {@code [rows, width]}
   * @param places for each update the row that it is meant for
   * @param updates {@code [updates, width]}
   */
  private static Value scattered(Node node, Value rows, Value places, Value updates) {
    Ops ops = node.ops();
    String reduction = node.text("reduction", "none");
    node.require(rows.type() == updates.type(), "its updates are of another type");
    if (places.isConstant() && reduction.equals("none")) {
      int[] from = ops.budget().range(rows.dim(0));
      for (int i = 0; i < places.count(); i++) {
        long place = places.constant().integer(i);
        node.require(place >= 0 && place < from.length, "an index is out of bounds");
        from[(int) place] = rows.dim(0) + i;
      }
      Value both = ops.concat(List.of(rows, updates), 0);
      return ops.gather(both, 0, ops.integers(new int[] {from.length}, from));
    }
    node.require(
        (long) rows.count() * updates.dim(0) <= MOST_PAIRS,
        "it has too many computed places for what NNAPI has");
    int count = updates.dim(0);
    Value row = ops.integers(new int[] {rows.dim(0), 1}, ops.budget().range(rows.dim(0)));
    Value isMeant = ops.binary(Binary.EQUAL, row, ops.reshape(places, 1, count));
    if (reduction.equals("none")) {
      return replaced(ops, rows, updates, isMeant);
    }
    Value meant = ops.reshape(isMeant, rows.dim(0), count, 1);
    Value all = ops.reshape(updates, 1, count, updates.dim(1));
    Reduction kind;
    Binary pair;
    double neutral;
    switch (reduction) {
      case "add" -> {
        kind = Reduction.SUM;
        pair = Binary.ADD;
        neutral = 0;
      }
      case "mul" -> {
        kind = Reduction.PRODUCT;
        pair = Binary.MUL;
        neutral = 1;
      }
      case "max" -> {
        kind = Reduction.MAX;
        pair = Binary.MAXIMUM;
        neutral = computed(rows.type()).elements().least();
      }
      case "min" -> {
        kind = Reduction.MIN;
        pair = Binary.MINIMUM;
        neutral = computed(rows.type()).elements().most();
      }
      default -> throw node.refuse("its reduction is " + reduction);
    }
    Value chosen = ops.select(meant, all, ops.number(rows.type(), neutral));
    Value reduced = ops.reshape(ops.reduce(kind, chosen, 1), rows.shape());
    return ops.binary(pair, rows, reduced);
  }

  /** The type that numbers of a type are computed in. */
  private static DataType computed(DataType type) {
    return type == DataType.INT64 ? DataType.INT32 : type;
  }

  /** For each row the last update that is meant for it, or itself. */
  private static Value replaced(Ops ops, Value rows, Value updates, Value isMeant) {
    int count = updates.dim(0);
    int[] numbers = ops.budget().range(count);
    Arrays.setAll(numbers, i -> i + 1);
    Value order =
        ops.mul(ops.cast(isMeant, DataType.INT32), ops.integers(new int[] {1, count}, numbers));
    Value last = ops.emit(DataType.INT32, OperationCode.ARGMAX, ops.operand(order), ops.int32(1));
    Value taken = ops.gather(updates, 0, last);
    Value isHit = ops.reduce(Reduction.MAX, ops.cast(isMeant, DataType.FLOAT), 1);
    return ops.select(
        ops.binary(Binary.GREATER, isHit, ops.number(DataType.FLOAT, 0)), taken, rows);
  }
}
