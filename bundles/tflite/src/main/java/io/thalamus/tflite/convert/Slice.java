// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;

/** Operators that take a part of a tensor, or cut it into parts. */
final class Slice {
  private Slice() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.SLICE, Slice::slice);
    table.add(BuiltinOperator.STRIDED_SLICE, Slice::stridedSlice);
    table.add(BuiltinOperator.SPLIT, Slice::split);
    table.add(BuiltinOperator.SPLIT_V, Slice::splitUnevenly);
  }

  private static void slice(Node node) throws ModelFormatException {
    if (!node.input(1).isConstant() || !node.input(2).isConstant()) {
      node.emit(OperationCode.SLICE, List.of(node.in(0), node.in(1), node.in(2)), node.out(0));
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

  private static void stridedSlice(Node node) throws ModelFormatException {
    StridedSliceOptions options =
        node.options(BuiltinOptions.StridedSliceOptions, new StridedSliceOptions());
    node.require(
        node.get(options::ellipsisMask) == 0 && node.get(options::newAxisMask) == 0,
        "it has an ellipsis or a new axis, which NNAPI does not have");
    int[] begin = node.ints(1);
    int[] end = node.ints(2);
    int[] strides = node.ints(3);
    int rank = node.shapeOf(0).rank();
    node.require(
        begin.length == end.length && end.length == strides.length && begin.length <= rank,
        "begin, end and strides have different lengths");
    int beginMask = node.get(options::beginMask);
    int endMask = node.get(options::endMask);
    int shrinkMask = node.get(options::shrinkAxisMask);
    if (node.get(options::offset)) {
      for (int i = 0; i < begin.length; i++) {
        end[i] += begin[i];
      }
    }
    // NNAPI wants every dimension named; those that are not are taken whole.
    for (int i = begin.length; i < rank; i++) {
      beginMask |= 1 << i;
      endMask |= 1 << i;
    }
    int named = begin.length;
    begin = Arrays.copyOf(begin, rank);
    end = Arrays.copyOf(end, rank);
    strides = Arrays.copyOf(strides, rank);
    Arrays.fill(strides, named, rank, 1);
    if (node.isScalar(node.output(0)) && shrinkMask != 0) {
      // A scalar has one dimension here: the first stays.
      shrinkMask &= shrinkMask - 1;
    }
    node.emit(
        OperationCode.STRIDED_SLICE,
        List.of(
            node.in(0),
            node.int32Vector(begin),
            node.int32Vector(end),
            node.int32Vector(strides),
            node.int32(beginMask),
            node.int32(endMask),
            node.int32(shrinkMask)),
        node.out(0));
  }

  private static void split(Node node) throws ModelFormatException {
    int axis = node.axis(node.onlyInt(0), node.shapeOf(1).rank());
    node.emit(
        OperationCode.SPLIT,
        List.of(node.in(1), node.int32(axis), node.int32(node.outputCount())),
        outputs(node));
  }

  /** Into parts of given sizes, each a slice of its own. */
  private static void splitUnevenly(Node node) throws ModelFormatException {
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

  private static List<Integer> outputs(Node node) throws ModelFormatException {
    List<Integer> outputs = new ArrayList<>();
    for (int i = 0; i < node.outputCount(); i++) {
      outputs.add(node.out(i));
    }
    return outputs;
  }
}
