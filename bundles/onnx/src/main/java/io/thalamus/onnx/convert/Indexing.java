// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Operators that take elements by indexes which are values themselves. */
final class Indexing {
  private static final int MOST_TAKEN = 1 << 20;

  private Indexing() {}

  static void addTo(Converters table) {
    table.add("Gather", Indexing::gather);
    table.add("GatherElements", Indexing::gatherElements);
    table.add("GatherND", Indexing::gatherNd);
    table.add("OneHot", Indexing::oneHot);
    table.add("TopK", Indexing::topK);
    table.add("ReverseSequence", Indexing::reverseSequence);
  }

  /** Indexes as INT32, those from the end counted from 0. */
  static Value counted(Ops ops, Value indexes, Value size) {
    Value narrow = ops.cast(indexes, DataType.INT32);
    Value zero = ops.number(DataType.INT32, 0);
    if (narrow.isConstant()
        && Arrays.stream(narrow.constant().integers()).allMatch(index -> index >= 0)) {
      return narrow;
    }
    return ops.select(ops.binary(Binary.LESS, narrow, zero), ops.add(narrow, size), narrow);
  }

  private static void gather(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    int axis = node.axis(node.setting("axis", 0), data.rank());
    Value size = ops.cast(OpenSizes.size(ops, data, axis), DataType.INT32);
    node.out(ops.gather(data, axis, counted(ops, node.openIn(1), size)));
  }

  private static void gatherElements(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    Value indexes = node.openIn(1);
    node.require(data.rank() == indexes.rank(), "data and indexes differ in rank");
    int axis = node.axis(node.setting("axis", 0), data.rank());
    if (!data.isOpen() && !indexes.isOpen()) {
      node.out(ops.gather(ops.flat(data), 0, flatPlaces(ops, data.shape(), indexes, axis)));
      return;
    }
    if (data.rank() == 1) {
      Value size = ops.cast(OpenSizes.size(ops, data, axis), DataType.INT32);
      node.out(ops.gather(data, 0, counted(ops, indexes, size)));
      return;
    }
    node.out(OpenSizes.gatherNd(ops, data, tuples(ops, data, indexes, axis)));
  }

  /** The indexes of each element: along an axis its own one, with its own place beside. */
  static Value tuples(Ops ops, Value data, Value indexes, int axis) {
    Value size = ops.cast(OpenSizes.size(ops, data, axis), DataType.INT32);
    Value counted = counted(ops, indexes, size);
    Value none = ops.mul(counted, ops.number(DataType.INT32, 0));
    List<Value> tuple = new ArrayList<>();
    for (int i = 0; i < data.rank(); i++) {
      Value line = OpenSizes.along(ops, OpenSizes.places(ops, indexes, i), data.rank(), i);
      Value place = i == axis ? counted : ops.add(line, none);
      tuple.add(OpenSizes.expandDims(ops, place, data.rank()));
    }
    return ops.concat(tuple, data.rank());
  }

  /** The flat place of each element: that of its index along an axis, with its own place beside. */
  static Value flatPlaces(Ops ops, int[] shape, Value indexes, int axis) {
    Value index = counted(ops, indexes, ops.number(DataType.INT32, shape[axis]));
    int[] strides = Dims.strides(shape);
    Value places = ops.mul(index, strides[axis]);
    return ops.add(places, offsets(ops, indexes.shape(), strides, axis));
  }

  /** Returns the offset of each element, without the part of one axis. */
  private static Value offsets(Ops ops, int[] shape, int[] strides, int axis) {
    int[] without = Dims.with(strides, axis, 0);
    int[] own = Dims.strides(shape);
    int[] offsets = ops.budget().ints(Dims.count(shape));
    for (int i = 0; i < offsets.length; i++) {
      for (int d = 0; d < shape.length; d++) {
        offsets[i] += i / own[d] % shape[d] * without[d];
      }
    }
    return ops.integers(shape, offsets);
  }

  /** The sizes of so many axes from one on, as a vector. */
  static Value sizes(Ops ops, Value value, int axis, int count) {
    List<Value> sizes = new ArrayList<>();
    for (int i = axis; i < axis + count; i++) {
      sizes.add(ops.reshape(ops.cast(OpenSizes.size(ops, value, i), DataType.INT32), 1));
    }
    return ops.concat(sizes, 0);
  }

  private static void gatherNd(Node node) {
    Ops ops = node.ops();
    Value data = node.openIn(0);
    Value indexes = node.openIn(1);
    int batch = node.setting("batch_dims", 0);
    int tuple = indexes.rank() == 0 ? 0 : indexes.dim(indexes.rank() - 1);
    boolean isOpen = data.isOpen() || indexes.isOpen();
    node.require(
        batch >= 0
            && tuple > 0
            && batch + tuple <= data.rank()
            && batch < (isOpen ? 1 : indexes.rank()),
        "its indexes do not fit " + data.text());
    Value index = counted(ops, indexes, sizes(ops, data, batch, tuple));
    if (isOpen) {
      node.out(OpenSizes.gatherNd(ops, data, index));
      return;
    }
    int[] sizes = Arrays.copyOfRange(data.shape(), batch, batch + tuple);
    Value factors = ops.integers(new int[] {tuple}, Dims.strides(sizes));
    Value sum = ops.reduce(Ops.Reduction.SUM, ops.mul(index, factors), indexes.rank() - 1);
    Value place = ops.reshape(sum, Arrays.copyOf(indexes.shape(), indexes.rank() - 1));
    int batches = Dims.count(data.shape(), 0, batch);
    int each = Dims.count(sizes);
    int[] starts = ops.budget().ints(batches);
    Arrays.setAll(starts, i -> i * each);
    if (batch > 0) {
      int[] sizesOfBatch = Arrays.copyOf(data.shape(), batch);
      int[] startShape = Dims.join(sizesOfBatch, Dims.ones(place.rank() - batch));
      place = ops.add(place, ops.integers(startShape, starts));
    }
    int[] rest = Arrays.copyOfRange(data.shape(), batch + tuple, data.rank());
    Value rows = ops.reshape(data, Dims.join(new int[] {batches * each}, rest));
    node.out(ops.gather(rows, 0, place));
  }

  private static void oneHot(Node node) {
    Ops ops = node.ops();
    Value indexes = node.openIn(0);
    int rank = indexes.rank() + 1;
    int axis = node.axis(node.setting("axis", -1), rank);
    int depth = node.isKnown(1) ? (int) node.onlyNumber(1) : node.stated(0, 1)[axis];
    node.require(depth > 0, "its depth is " + depth);
    Value index = counted(ops, indexes, ops.number(DataType.INT32, depth));
    Value column = OpenSizes.expandDims(ops, index, axis);
    Value hit = ops.binary(Binary.EQUAL, column, ops.range(Dims.along(rank, axis, depth)));
    Value values = node.in(2);
    node.out(ops.select(hit, ops.at(values, 0, 1), ops.at(values, 0, 0)));
  }

  /**
   * NNAPI takes the largest of the last dimension; the least are the largest of the negated. Of a
   * number that is computed it takes as many as there are at most, behind those that there are
   * least ones.
   */
  private static void topK(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int rank = value.rank();
    int axis = node.axis(node.setting("axis", -1), rank);
    int size = value.dim(axis);
    boolean isNumber = node.opset() < 10 || node.isKnown(1);
    boolean isComputed = !isNumber && (value.isOpen() || node.declared(0) == null);
    long most =
        node.opset() < 10
            ? node.setting("k", 0)
            : isNumber ? node.onlyInt(1) : isComputed ? most(node, size) : node.stated(0, 1)[axis];
    if (isComputed || value.isOpen()) {
      boolean isTaken = most > 0 && most < MOST_TAKEN && value.type().isFloat();
      if (rank == 1 && !isTaken) {
        Value all = isComputed ? ops.cast(node.in(1), DataType.INT64) : Shapes.integer(most);
        sort(node, value, ops.reshape(all));
        return;
      }
      node.require(isTaken, "nothing says how many it takes at most, or it is of " + value.text());
    } else {
      node.require(most > 0 && most <= size, "it takes " + most + " of " + size);
    }
    boolean isLargest = node.flag("largest", true);
    Value seen = ops.toEnd(value, axis);
    // Of equal elements NNAPI's comes from behind, ONNX's from the front.
    Value turned = ops.reverse(seen, rank - 1);
    Value signed = isLargest ? turned : ops.unary(Unary.NEG, turned);
    if (isComputed) {
      int[] more = new int[2 * rank];
      more[2 * rank - 1] = (int) most;
      signed =
          ops.emitSized(
              value.type(),
              Dims.with(seen.shape(), rank - 1, 0),
              OperationCode.PAD_V2,
              ops.operand(signed),
              ops.operand(ops.integers(new int[] {rank, 2}, more)),
              ops.real(-Float.MAX_VALUE));
    }
    int[] found = Dims.with(seen.shape(), rank - 1, (int) most);
    Value values = ops.temporary(value.type(), found);
    Value fromBehind = ops.temporary(DataType.INT64, found);
    ops.addSized(
        OperationCode.TOPK_V2,
        List.of(ops.operand(signed), ops.int32((int) most)),
        List.of(values.operand(), fromBehind.operand()));
    Value places = ops.sub(ops.add(OpenSizes.size(ops, value, axis), -1), fromBehind);
    values = isLargest ? values : ops.unary(Unary.NEG, values);
    if (isComputed) {
      Value length = ops.reshape(node.in(1));
      values = OpenSizes.part(ops, values, rank - 1, 0, length);
      places = OpenSizes.part(ops, places, rank - 1, 0, length);
    }
    int[] back = Dims.inverse(Dims.join(MoveOps.others(rank, axis), new int[] {axis}));
    node.out(0, ops.transpose(values, back));
    node.out(1, ops.transpose(places, back));
  }

  /** The most that a computed number can be. */
  private static long most(Node node, int size) {
    Sizes sizes = Sizes.of(node.in(1));
    boolean isKnown = sizes != null && sizes.most() != Sizes.UNKNOWN;
    return isKnown ? sizes.most() : size > 0 ? size : Sizes.UNKNOWN;
  }

  /**
   * A row in order: the place of each element is how many come before it.
   *
   * @param count how many are wanted, as one number
   */
  private static void sort(Node node, Value row, Value count) {
    Ops ops = node.ops();
    Binary isBefore = node.flag("largest", true) ? Binary.GREATER : Binary.LESS;
    Value places = OpenSizes.places(ops, row, 0);
    Value other = OpenSizes.along(ops, row, 2, 1);
    Value own = OpenSizes.along(ops, row, 2, 0);
    Value isEqual =
        ops.binary(
            Binary.AND,
            ops.binary(Binary.EQUAL, other, own),
            ops.binary(
                Binary.LESS,
                OpenSizes.along(ops, places, 2, 1),
                OpenSizes.along(ops, places, 2, 0)));
    Value isFirst = ops.binary(Binary.OR, ops.binary(isBefore, other, own), isEqual);
    Value number = ops.cast(isFirst, DataType.FLOAT);
    Value before = OpenSizes.reduce(ops, OperationCode.REDUCE_SUM, number, 1);
    Value line = OpenSizes.along(ops, ops.cast(places, DataType.FLOAT), 2, 0);
    Value isThere = ops.binary(Binary.EQUAL, line, OpenSizes.along(ops, before, 2, 1));
    // Row by row the place of the element that belongs there, of which there is one.
    Value found = OpenSizes.found(ops, isThere, new int[] {0, 2}, false);
    Value order = ops.cast(ops.gather(found, 1, ops.number(DataType.INT32, 1)), DataType.INT64);
    Value sorted = ops.gather(row, 0, ops.cast(order, DataType.INT32));
    node.out(0, OpenSizes.part(ops, sorted, 0, 0, count));
    node.out(1, OpenSizes.part(ops, order, 0, 0, count));
  }

  private static void reverseSequence(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int time = node.axis(node.setting("time_axis", 0), value.rank());
    int batch = node.axis(node.setting("batch_axis", 1), value.rank());
    node.require(time != batch && time < 2 && batch < 2, "its axes are not the first two");
    Value rows = time == 0 ? value : swap(ops, value);
    Value result = reversed(ops, rows, ops.cast(node.in(1), DataType.INT32));
    node.out(time == 0 ? result : swap(ops, result));
  }

  /**
   * Sequences along the first axis turned round, each as far as it goes; batches are the second.
   */
  static Value reversed(Ops ops, Value rows, Value each) {
    int steps = rows.dim(0);
    int batches = rows.dim(1);
    Value lengths = ops.reshape(each, 1, batches);
    Value step = ops.range(steps, 1);
    Value turned = ops.sub(ops.add(lengths, -1), step);
    Value from = ops.select(ops.binary(Binary.LESS, step, lengths), turned, step);
    Value place = ops.add(ops.mul(from, batches), ops.range(1, batches));
    int[] rest = Arrays.copyOfRange(rows.shape(), 2, rows.rank());
    Value flat = ops.reshape(rows, Dims.join(new int[] {steps * batches}, rest));
    return ops.gather(flat, 0, place);
  }

  private static Value swap(Ops ops, Value value) {
    int[] order = Dims.range(value.rank());
    order[0] = 1;
    order[1] = 0;
    return ops.transpose(value, order);
  }
}
