// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Operators whose results are as long as what they find; see {@link OpenOperators} for what may
 * compute with them.
 */
final class Search {
  private Search() {}

  static void addTo(Converters table) {
    table.add("NonZero", Search::nonZero);
    table.add("Unique", node -> unique(node, true));
    table.add("NonMaxSuppression", Search::nonMaxSuppression);
    table.add("Compress", Search::compress);
  }

  /** Numbers in a type that is searched: 8-bit ones are widened. */
  private static Value searched(Ops ops, Value value) throws ModelFormatException {
    return value.type().is8Bit() ? ops.cast(value, DataType.INT32) : value;
  }

  /** ONNX has a row for each axis; where it is transposed, there is one for each element. */
  private static void nonZero(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.in(0);
    if (value.isConstant()) {
      node.out(places(ops, value));
      return;
    }
    Value seen = searched(ops, value.rank() == 0 ? ops.reshape(value, 1) : value);
    Value byAxis = places(ops, seen, true);
    byAxis.setTurned(places(ops, seen, false));
    node.out(byAxis);
  }

  private static Value places(Ops ops, Value value, boolean isByAxis) throws ModelFormatException {
    List<Integer> inputs = List.of(ops.operand(value), ops.bool(isByAxis));
    return ops.emitOpen(ThalamusExtension.NON_ZERO, inputs, DataType.INT64).getFirst();
  }

  /** The same of a constant, as a constant. */
  private static Value places(Ops ops, Value value) throws ModelFormatException {
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
  static void unique(Node node, boolean hasPlaces) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.in(0);
    boolean isFlat = value.rank() == 1 && node.axis(node.setting("axis", 0), 1) == 0;
    node.require(!node.hasSetting("axis") || isFlat, "it compares slices along an axis");
    node.require(
        value.type() != DataType.BOOL && !value.type().is8Bit(), "it is of " + value.type());
    List<Value> found =
        ops.emitOpen(
            ThalamusExtension.UNIQUE,
            List.of(ops.operand(ops.flat(value)), ops.bool(hasPlaces && node.flag("sorted", true))),
            value.type(),
            DataType.INT64,
            DataType.INT64,
            DataType.INT64);
    for (int i = 0; i < found.size(); i++) {
      if (hasPlaces || i != 1) {
        node.out(hasPlaces || i == 0 ? i : i - 1, found.get(i));
      }
    }
  }

  private static void nonMaxSuppression(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value most = limit(node, 2, DataType.INT32, 0);
    Value overlap = limit(node, 3, DataType.FLOAT, 0);
    Value least = limit(node, 4, DataType.FLOAT, Double.NEGATIVE_INFINITY);
    List<Integer> inputs =
        List.of(
            ops.operand(node.in(0)),
            ops.operand(node.in(1)),
            ops.operand(most),
            ops.operand(overlap),
            ops.operand(least),
            ops.bool(node.flag("center_point_box", false)));
    node.out(
        ops.emitOpen(ThalamusExtension.NON_MAX_SUPPRESSION, inputs, DataType.INT64).getFirst());
  }

  /** The slices along an axis, or the elements, that a known condition names. */
  private static void compress(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.hasSetting("axis") ? node.in(0) : ops.flat(node.in(0));
    int axis = node.axis(node.setting("axis", 0), value.rank());
    Tensor condition = node.known(1);
    int[] chosen =
        IntStream.range(0, Math.min(condition.count(), value.dim(axis)))
            .filter(i -> condition.integer(i) != 0)
            .toArray();
    node.out(ops.gather(value, axis, ops.integers(new int[] {chosen.length}, chosen)));
  }

  static Value limit(Node node, int input, DataType type, double otherwise)
      throws ModelFormatException {
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
