// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.StridedSliceOptions;

/**
 * Parts of tensors whose places only an execution determines. Where their sizes are known, they are
 * gathered by computed indexes; NNAPI's own slices with computed bounds have no shape beforehand,
 * and few devices take them.
 */
final class Computed {

  /** Beyond all indexes: divided by it and rounded down, those below 0 give -1 and others 0. */
  private static final int FAR = Integer.MAX_VALUE;

  private Computed() {}

  /** SLICE from computed places on. */
  static void slice(Node node) {
    Shape shape = node.shapeOf(0);
    int[] sizes = node.isKnown(2) ? node.ints(2) : null;
    boolean areSizesKnown =
        sizes != null
            && shape.isFullySpecified()
            && sizes.length == shape.rank()
            && Arrays.stream(sizes).allMatch(size -> size > 0);
    if (!areSizesKnown) {
      node.emit(OperationCode.SLICE, node.out(0), node.in(0), node.in(1), node.in(2));
      return;
    }
    int part = node.in(0);
    for (int axis = 0; axis < sizes.length; axis++) {
      if (sizes[axis] != shape.dimension(axis)) {
        part = taken(node, part, axis, sizes[axis], element(node, node.in(1), axis));
      }
    }
    Reshape.emit(node, part, sized(node, node.out(0), Shape.of(sizes)));
  }

  /** STRIDED_SLICE with computed bounds. */
  static void stridedSlice(Node node) {
    StridedSliceOptions options = node.options(new StridedSliceOptions());
    node.require(
        node.get(options::ellipsisMask) == 0
            && node.get(options::newAxisMask) == 0
            && !node.get(options::offset),
        "its bounds are computed, and it has more than a begin, an end and one index for a"
            + " dimension");
    int shrink = node.get(options::shrinkAxisMask);
    int beginMask = node.get(options::beginMask);
    int endMask = node.get(options::endMask) & ~shrink; // one index has no end
    Shape shape = node.shapeOf(0);
    int named = node.shapeOf(1).dimension(0);
    int[] sizes = sizes(node, shape, named, shrink, beginMask & endMask);
    if (sizes == null) {
      int whole = (1 << shape.rank()) - (1 << Math.min(named, shape.rank()));
      node.emit(
          OperationCode.STRIDED_SLICE,
          node.out(0),
          node.in(0),
          extended(node, node.in(1), shape.rank(), 0),
          extended(node, node.in(2), shape.rank(), 0),
          extended(node, node.in(3), shape.rank(), 1),
          node.int32(beginMask | whole),
          node.int32(endMask | whole),
          node.int32(shrink));
      return;
    }
    int part = node.in(0);
    for (int axis = 0; axis < named; axis++) {
      if (isSet(shrink, axis)) {
        int index = wrapped(node, element(node, node.in(1), axis), shape.dimension(axis));
        part = taken(node, part, axis, 1, index);
      } else if (sizes[axis] != shape.dimension(axis)) {
        int begin =
            isSet(beginMask, axis)
                ? node.int32Vector(0)
                : counted(node, element(node, node.in(1), axis), shape.dimension(axis));
        part = taken(node, part, axis, sizes[axis], begin);
      }
    }
    int[] kept =
        IntStream.range(0, sizes.length)
            .filter(axis -> !isSet(shrink, axis))
            .map(axis -> sizes[axis])
            .toArray();
    Shape result = kept.length == 0 ? Shape.of(1) : Shape.of(kept);
    Reshape.emit(node, part, sized(node, node.out(0), result));
  }

  /** A vector with a number for each dimension that it does not name. */
  private static int extended(Node node, int vector, int rank, int number) {
    Operand named = node.operand(vector);
    int missing = rank - named.shape().dimension(0);
    if (missing <= 0) {
      return vector;
    }
    int[] rest = new int[missing];
    Arrays.fill(rest, number);
    return node.compute(
        ThalamusExtension.CONCATENATION,
        named,
        Shape.of(rank),
        vector,
        node.int32Vector(rest),
        node.int32(0));
  }

  private static boolean isSet(int mask, int index) {
    return (mask >> index & 1) != 0;
  }

  /** The size along each axis, 1 where there is one index; null where one is not known. */
  private static int[] sizes(Node node, Shape shape, int named, int shrink, int whole) {
    if (!shape.isFullySpecified() || named > shape.rank()) {
      return null;
    }
    int[] sizes = shape.toArray();
    FlatTensor output = node.output(0);
    int place = 0;
    for (int axis = 0; axis < sizes.length; axis++) {
      if (axis < named && isSet(shrink, axis)) {
        sizes[axis] = 1;
        continue;
      }
      int at = place++;
      if (axis >= named || isSet(whole, axis)) {
        continue;
      }
      boolean isStated =
          at < output.shape().length
              && output.shape()[at] > 0
              && output.shape()[at] <= sizes[axis]
              && (output.signature().length != output.shape().length || output.signature()[at] > 0);
      if (!isStated || !node.isKnown(3) || node.ints(3)[axis] != 1) {
        return null;
      }
      sizes[axis] = output.shape()[at];
    }
    return sizes;
  }

  /** DYNAMIC_UPDATE_SLICE: the other tensor where it lies, else the first. */
  static void update(Node node) {
    Shape shape = node.shapeOf(0);
    Shape small = node.shapeOf(1);
    node.require(
        shape.isFullySpecified() && small.isFullySpecified() && small.rank() == shape.rank(),
        "it writes data of shape " + small + " into " + shape);
    int update = node.in(1);
    int mask = -1;
    for (int axis = 0; axis < shape.rank(); axis++) {
      int size = small.dimension(axis);
      int whole = shape.dimension(axis);
      node.require(size <= whole, "it writes data of shape " + small + " into " + shape);
      if (size == whole) {
        continue;
      }
      int start = within(node, element(node, node.in(2), axis), whole - size);
      int places = node.int32Vector(node.constants().range(whole, node.input(0)));
      int distance = pair(node, OperationCode.SUB, places, start, whole);
      int inside =
          both(
              node,
              node.compare(OperationCode.GREATER_EQUAL, distance, node.int32Vector(0)),
              node.compare(OperationCode.LESS, distance, node.int32Vector(size)));
      int index = within(node, distance, size - 1);
      Operand data = node.operand(update);
      update =
          node.compute(
              OperationCode.GATHER,
              data,
              data.shape().with(axis, whole),
              update,
              node.int32(axis),
              index);
      int spread = spread(node, inside, shape, axis);
      mask = mask < 0 ? spread : both(node, mask, spread);
    }
    if (mask < 0) {
      node.alias(0, update);
      return;
    }
    node.emit(OperationCode.SELECT, sized(node, node.out(0), shape), mask, update, node.in(0));
  }

  private static int sized(Node node, int output, Shape shape) {
    node.builder().reshape(output, shape);
    return output;
  }

  /** One element of a vector of integers. */
  static int element(Node node, int vector, int index) {
    if (node.operand(vector).shape().equals(Shape.of(1))) {
      return vector;
    }
    int element = node.temporary(OperandCode.TENSOR_INT32, Shape.of(1), Quantization.NONE);
    Strided.emit(node, vector, Shape.of(1), index, new long[] {1}, element);
    return element;
  }

  /** So many neighbours along an axis, from a computed one on. */
  private static int taken(Node node, int part, int axis, int size, int begin) {
    Operand data = node.operand(part);
    int index = begin;
    if (size > 1) {
      int start = within(node, begin, data.shape().dimension(axis) - size);
      index =
          pair(
              node,
              OperationCode.ADD,
              node.int32Vector(node.constants().range(size, node.input(0))),
              start,
              size);
    }
    return node.compute(
        OperationCode.GATHER, data, data.shape().with(axis, size), part, node.int32(axis), index);
  }

  /** Where a part begins: what counts from the end and lies before the first is the first. */
  private static int counted(Node node, int index, int size) {
    int low = node.compute(OperationCode.MAXIMUM, index, index, node.int32Vector(-size));
    int turns = node.compute(ThalamusExtension.FLOOR_DIV, index, low, node.int32Vector(FAR));
    int past = node.compute(OperationCode.MUL, index, turns, node.int32Vector(size));
    int start = node.compute(OperationCode.SUB, index, low, past);
    return within(node, start, size - 1);
  }

  /** An index that may count from the end. */
  private static int wrapped(Node node, int index, int size) {
    int whole = node.int32Vector(size);
    int turns = node.compute(ThalamusExtension.FLOOR_DIV, index, index, whole);
    int past = node.compute(OperationCode.MUL, index, turns, whole);
    return node.compute(OperationCode.SUB, index, index, past);
  }

  private static int within(Node node, int index, int most) {
    int low = node.compute(OperationCode.MAXIMUM, index, index, node.int32Vector(0));
    return node.compute(OperationCode.MINIMUM, index, low, node.int32Vector(most));
  }

  private static int pair(Node node, OperationCode code, int first, int second, int size) {
    return node.compute(code, node.operand(first), Shape.of(size), first, second);
  }

  private static int both(Node node, int first, int second) {
    return node.compute(OperationCode.LOGICAL_AND, first, first, second);
  }

  /** A vector along one axis of a larger tensor, repeated along the others. */
  private static int spread(Node node, int vector, Shape shape, int axis) {
    long[] strides = new long[shape.rank()];
    strides[axis] = 1;
    int spread = node.temporary(node.operand(vector), shape);
    Strided.emit(node, vector, shape, 0, strides, spread);
    return spread;
  }
}
