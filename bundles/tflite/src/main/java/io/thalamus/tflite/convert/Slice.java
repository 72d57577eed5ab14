// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Operators that take a part of a tensor, or cut it into parts. */
final class Slice {
  private Slice() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.SLICE, Slice::slice);
    table.add(BuiltinOperator.STRIDED_SLICE, StridedSlice::convert);
    table.add(BuiltinOperator.DYNAMIC_UPDATE_SLICE, Computed::update);
    table.add(BuiltinOperator.SPLIT, Slice::split);
    table.add(BuiltinOperator.SPLIT_V, Slice::splitUnevenly);
  }

  private static void slice(Node node) {
    if (!node.isKnown(1) || !node.isKnown(2)) {
      Computed.slice(node);
      return;
    }
    int[] begin = node.ints(1);
    int[] size = node.ints(2);
    Shape shape = node.shapeOf(0);
    node.require(
        begin.length == shape.rank() && size.length == shape.rank(),
        "it slices " + begin.length + " dimensions of " + shape.rank());
    for (int i = 0; i < size.length; i++) {
      if (size[i] == -1 && shape.dimension(i) > 0) {
        size[i] = shape.dimension(i) - begin[i];
      }
    }
    node.emit(
        OperationCode.SLICE,
        List.of(node.in(0), node.int32Vector(begin), node.int32Vector(size)),
        node.out(0));
  }

  private static void split(Node node) {
    int axis = node.axis(node.onlyInt(0), node.shapeOf(1).rank());
    node.emit(
        OperationCode.SPLIT,
        List.of(node.in(1), node.int32(axis), node.int32(node.outputCount())),
        node.outs());
  }

  /** Into parts of given sizes, each a slice of its own. */
  private static void splitUnevenly(Node node) {
    int[] sizes = node.ints(1);
    Shape shape = node.shapeOf(0);
    int axis = node.axis(node.onlyInt(2), shape.rank());
    node.require(
        shape.isFullySpecified() && sizes.length == node.outputCount(),
        "its input has shape " + shape + " and it makes " + sizes.length + " parts");
    long named = Arrays.stream(sizes).filter(size -> size >= 0).asLongStream().sum();
    int[] begin = new int[shape.rank()];
    for (int i = 0; i < sizes.length; i++) {
      int size = sizes[i] >= 0 ? sizes[i] : (int) (shape.dimension(axis) - named);
      node.require(
          size > 0 && begin[axis] + (long) size <= shape.dimension(axis),
          "its parts do not fit a shape of " + shape);
      int[] extent = shape.with(axis, size).toArray();
      node.emit(
          OperationCode.SLICE,
          List.of(node.in(0), node.int32Vector(begin), node.int32Vector(extent)),
          node.out(i));
      begin[axis] += size;
    }
  }
}
