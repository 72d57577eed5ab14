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
    Value data = node.openIn(0);
    Value indexes = node.openIn(1);
    int axis = node.axis(node.setting("axis", 0), data.rank());
    if (!data.isOpen() && !indexes.isOpen()) {
      node.out(scattered(node, data, Indexing.flatPlaces(ops, data.shape(), indexes, axis), 1));
      return;
    }
    int width = Dims.count(data.shape(), 1, data.rank());
    node.require(
        width > 0
            && axis == 0
            && indexes.rank() == data.rank()
            && Dims.count(indexes.shape(), 1, indexes.rank()) == width,
        "it is of " + data.text() + " and " + indexes.text());
    Value places = ops.cast(indexes, DataType.INT32);
    if (data.rank() > 1) {
      Value reals = ops.cast(indexes, DataType.FLOAT);
      places = ofRows(ops, ops.reshape(reals, indexes.dim(0), width));
    }
    Value counted = Indexing.counted(ops, places, Indexing.sizes(ops, data, 0, 1));
    node.out(scattered(node, data, counted, width));
  }

  /**
   * The number that each row consists of, as PyTorch spreads the places of rows; the execution
   * fails where a row has two, since elements with places of their own would cost a comparison
   * each.
   */
  private static Value ofRows(Ops ops, Value rows) {
    Value least = OpenSizes.reduce(ops, OperationCode.REDUCE_MIN, rows, 1);
    Value most = OpenSizes.reduce(ops, OperationCode.REDUCE_MAX, rows, 1);
    Value isOne = ops.binary(Binary.EQUAL, least, most);
    Value beyond = ops.cast(ops.not(isOne), DataType.INT32);
    Value nothing = ops.gather(ops.integers(new int[] {1}, 0), 0, beyond);
    Value places = ops.cast(least, DataType.INT32);
    return ops.add(places, nothing);
  }

  private static void slices(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    Value indexes = node.openIn(1);
    int tuple = indexes.rank() == 0 ? 0 : indexes.dim(indexes.rank() - 1);
    node.require(tuple > 0 && tuple <= data.rank(), "its indexes do not fit " + data.text());
    node.require(
        !data.isOpen() || Dims.count(data.shape(), 1, data.rank()) > 0,
        data.text() + " is open behind its first axis");
    Value index = Indexing.counted(ops, indexes, Indexing.sizes(ops, data, 0, tuple));
    Value factors =
        ops.integers(new int[] {tuple}, Dims.strides(Arrays.copyOf(data.shape(), tuple)));
    Value sum = ops.reduce(Reduction.SUM, ops.mul(index, factors), indexes.rank() - 1);
    node.out(scattered(node, data, sum, Dims.count(data.shape(), tuple, data.rank())));
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
    node.out(scattered(node, data, places, updates, 1));
  }

  private static Value scattered(Node node, Value data, Value places, int width) {
    return scattered(node, data, places, node.openIn(2), width);
  }

  /**
   * The data with updates.
   *
   * @param places for each update the row that it is meant for
   * @param width of rows and updates
   */
  private static Value scattered(Node node, Value data, Value places, Value given, int width) {
    Ops ops = node.ops();
    String reduction = node.text("reduction", "none");
    node.require(data.type() == given.type(), "its updates are of another type");
    boolean isOpen = data.isOpen() || places.isOpen() || given.isOpen();
    Value meant = ops.flat(places);
    Value rows = ops.reshape(data, Dims.count(data.shape()) / width, width);
    Value updates = ops.reshape(given, meant.dim(0), width);
    if (places.isConstant() && !isOpen && reduction.equals("none")) {
      int[] from = ops.budget().range(rows.dim(0));
      for (int i = 0; i < meant.count(); i++) {
        long place = meant.constant().integer(i);
        node.require(place >= 0 && place < from.length, "an index is out of bounds");
        from[(int) place] = rows.dim(0) + i;
      }
      Value both = ops.concat(List.of(rows, updates), 0);
      return ops.reshape(
          ops.gather(both, 0, ops.integers(new int[] {from.length}, from)), data.shape());
    }
    if (isOpen) {
      // An update of nothing comes first, so that there is always one.
      meant = ops.concat(List.of(ops.integers(new int[] {1}, -1), meant), 0);
      updates = ops.concat(List.of(ops.fill(updates.type(), new int[] {1, width}, 0), updates), 0);
    }
    node.require(
        isOpen || (long) rows.count() * updates.dim(0) <= MOST_PAIRS,
        "it has too many computed places for what NNAPI has");
    Value row = OpenSizes.along(ops, OpenSizes.places(ops, rows, 0), 2, 0);
    Value isMeant = ops.binary(Binary.EQUAL, row, OpenSizes.along(ops, meant, 2, 1));
    Value result;
    if (reduction.equals("none")) {
      result = replaced(ops, rows, updates, isMeant);
    } else if (reduction.equals("add") && isOpen) {
      result = ops.add(rows, ops.multiply(ops.cast(isMeant, rows.type()), updates, false));
    } else {
      result = reduced(node, reduction, rows, updates, isMeant);
    }
    return ops.reshape(result, data.shape());
  }

  private static Value reduced(
      Node node, String reduction, Value rows, Value updates, Value isMeant) {
    Ops ops = node.ops();
    int count = updates.dim(0);
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
    Value numbers = OpenSizes.along(ops, ops.add(OpenSizes.places(ops, updates, 0), 1), 2, 1);
    Value order = ops.mul(ops.cast(isMeant, DataType.INT32), numbers);
    Value last =
        ops.emitSized(
            DataType.INT32,
            new int[] {rows.dim(0)},
            OperationCode.ARGMAX,
            ops.operand(order),
            ops.int32(1));
    Value taken = ops.gather(updates, 0, last);
    Value isHit = ops.reduce(Reduction.MAX, ops.cast(isMeant, DataType.FLOAT), 1);
    return ops.select(
        ops.binary(Binary.GREATER, isHit, ops.number(DataType.FLOAT, 0)), taken, rows);
  }
}
