// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Operators whose results are as long as what they find; see {@link OpenSizes} for what may compute
 * with them.
 */
final class Search {
  /** Pairs of elements of slices that are compared; floats count the places of a slice as well. */
  private static final long MOST_PAIRS = 1 << 24;

  private Search() {}

  static void addTo(Converters table) {
    table.add("NonZero", Search::nonZero);
    table.add("Unique", node -> unique(node, true));
    table.add("NonMaxSuppression", Search::nonMaxSuppression);
    table.add("Compress", Search::compress);
  }

  /** Numbers in a type that is searched: 8-bit ones are widened. */
  private static Value searched(Ops ops, Value value) {
    return value.type().is8Bit() ? ops.cast(value, DataType.INT32) : value;
  }

  /** ONNX has a row for each axis; where it is transposed, there is one for each element. */
  private static void nonZero(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    if (value.isConstant()) {
      node.out(places(ops, value));
      return;
    }
    Value seen = searched(ops, value.rank() == 0 ? ops.reshape(value, 1) : value);
    int rank = seen.rank();
    Value byAxis = OpenSizes.found(ops, seen, new int[] {rank, 0}, true);
    byAxis.setTurned(OpenSizes.found(ops, seen, new int[] {0, rank}, false));
    node.out(byAxis);
  }

  /** The places of what is not 0 in a constant, as a constant. */
  private static Value places(Ops ops, Value value) {
    int rank = Math.max(1, value.rank());
    int[] strides = value.rank() == 0 ? new int[] {1} : Dims.strides(value.shape());
    int[] found =
        IntStream.range(0, value.count()).filter(i -> value.constant().number(i) != 0).toArray();
    double[] places = ops.budget().doubles(rank * found.length);
    for (int axis = 0; axis < rank; axis++) {
      int size = value.rank() == 0 ? 1 : value.dim(axis);
      for (int i = 0; i < found.length; i++) {
        places[axis * found.length + i] = found[i] / strides[axis] % size;
      }
    }
    return ops.constant(DataType.INT64, new int[] {rank, found.length}, places);
  }

  /**
   * The elements that differ.
   *
   * @param hasPlaces whether their first places are a result; ONNX Runtime's own operator has none,
   *     and does not sort
   */
  static void unique(Node node, boolean hasPlaces) {
    Ops ops = node.ops();
    int rank = node.openIn(0).rank();
    int axis = node.hasSetting("axis") ? node.axis(node.setting("axis", 0), rank) : -1;
    boolean isSliced = axis >= 0 && rank > 1;
    Value value = isSliced ? node.in(0) : node.openIn(0);
    node.require(
        value.type() != DataType.BOOL && !value.type().is8Bit(), "it is of " + value.type());
    Value compared = isSliced ? ranks(node, axis) : ops.flat(value);
    List<Value> found =
        ops.emitOpen(
            ThalamusExtension.UNIQUE,
            List.of(ops.operand(compared), ops.bool(hasPlaces && node.flag("sorted", true))),
            compared.type(),
            DataType.INT64,
            DataType.INT64,
            DataType.INT64);
    if (isSliced) {
      Value places = ops.cast(found.get(1), DataType.INT32);
      found = new ArrayList<>(found);
      found.set(0, ops.gather(value, axis, places));
    }
    for (int i = 0; i < found.size(); i++) {
      if (hasPlaces || i != 1) {
        node.out(hasPlaces || i == 0 ? i : i - 1, found.get(i));
      }
    }
  }

  /**
   * For each slice along an axis the number of slices before it in their order, which is that of
   * the first elements that differ. Slices that are alike have the same.
   */
  private static Value ranks(Node node, int axis) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int count = value.dim(axis);
    int length = value.count() / Math.max(1, count);
    node.require(length > 0, "it compares slices without elements");
    node.require(
        (long) count * count * length <= MOST_PAIRS,
        "it compares " + count + " slices of " + length + " elements with each other");
    int[] order = new int[value.rank()];
    Arrays.setAll(order, i -> i == 0 ? axis : i <= axis ? i - 1 : i);
    Value slices = ops.transpose(value, order);
    Value one = ops.reshape(slices, count, 1, length);
    Value other = ops.reshape(slices, 1, count, length);
    Value sign =
        ops.sub(
            ops.cast(ops.binary(Binary.GREATER, one, other), DataType.FLOAT),
            ops.cast(ops.binary(Binary.LESS, one, other), DataType.FLOAT));
    // The first difference counts more than any after it.
    double[] weights = ops.budget().doubles(length);
    Arrays.setAll(weights, i -> length - i);
    Value weighted = ops.mul(sign, ops.constant(DataType.FLOAT, new int[] {1, 1, length}, weights));
    Value sum =
        ops.add(
            ops.reduce(Ops.Reduction.MAX, weighted, 2), ops.reduce(Ops.Reduction.MIN, weighted, 2));
    Value isBehind = ops.binary(Binary.GREATER, sum, ops.number(DataType.FLOAT, 0));
    Value before = ops.reduce(Ops.Reduction.SUM, ops.cast(isBehind, DataType.FLOAT), 1);
    return ops.cast(ops.reshape(before, count), DataType.INT32);
  }

  private static void nonMaxSuppression(Node node) {
    Ops ops = node.ops();
    node.out(
        ops.emitSized(
            DataType.INT64,
            new int[] {0, 3},
            ThalamusExtension.NON_MAX_SUPPRESSION,
            ops.operand(node.openIn(0)),
            ops.operand(node.openIn(1)),
            ops.operand(limit(node, 2, DataType.INT32, 0)),
            ops.operand(limit(node, 3, DataType.FLOAT, 0)),
            ops.operand(limit(node, 4, DataType.FLOAT, Double.NEGATIVE_INFINITY)),
            ops.bool(node.flag("center_point_box", false))));
  }

  /** The slices along an axis, or the elements, that a condition names. */
  private static void compress(Node node) {
    Ops ops = node.ops();
    Value value = node.hasSetting("axis") ? node.openIn(0) : ops.flat(node.openIn(0));
    int axis = node.axis(node.setting("axis", 0), value.rank());
    Value condition = node.openIn(1);
    node.require(condition.rank() == 1, "its condition is no vector");
    if (!condition.isConstant()) {
      Value places = OpenSizes.found(ops, condition, new int[] {0, 1}, false);
      node.out(
          axis == 0
              ? OpenSizes.gatherNd(ops, value, places)
              : ops.gather(value, axis, ops.flat(places)));
      return;
    }
    boolean isOpen = value.isOpen() && value.dim(axis) == 0;
    int size = isOpen ? condition.count() : Math.min(condition.count(), value.dim(axis));
    int[] chosen =
        IntStream.range(0, size).filter(i -> condition.constant().integer(i) != 0).toArray();
    node.out(ops.gather(value, axis, ops.integers(new int[] {chosen.length}, chosen)));
  }

  static Value limit(Node node, int input, DataType type, double otherwise) {
    Ops ops = node.ops();
    if (type == DataType.INT32 && node.isKnown(input)) {
      // What is beyond 32 bits stands for no limit.
      return ops.constant(type, new int[] {1}, node.onlyInt(input));
    }
    return node.has(input)
        ? ops.reshape(ops.cast(node.in(input), type), 1)
        : ops.constant(type, new int[] {1}, otherwise);
  }
}
