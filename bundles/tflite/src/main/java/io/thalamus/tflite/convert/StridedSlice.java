// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.StridedCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.lite.schema.StridedSliceOptions;

/**
 * STRIDED_SLICE. NNAPI's own takes what names dimensions one by one, of data that it moves; the
 * rest becomes AS_STRIDED. Used once, for one operator.
 */
final class StridedSlice {
  private final Node node;
  private final Shape shape;
  private final int[] begin;
  private final int[] end;
  private final int[] strides;
  private final int beginMask;
  private final int endMask;
  private final int ellipsisMask;
  private final int newAxisMask;
  private final int shrinkMask;

  private StridedSlice(Node node) {
    this.node = node;
    StridedSliceOptions options = node.options(new StridedSliceOptions());
    shape = node.shapeOf(0);
    begin = node.ints(1);
    end = node.ints(2);
    strides = node.ints(3);
    beginMask = node.get(options::beginMask);
    endMask = node.get(options::endMask);
    ellipsisMask = node.get(options::ellipsisMask);
    newAxisMask = node.get(options::newAxisMask);
    shrinkMask = node.get(options::shrinkAxisMask);
    node.require(
        begin.length == end.length && end.length == strides.length,
        "begin, end and strides have different lengths");
    node.require(
        Arrays.stream(strides).noneMatch(stride -> stride == 0), "one of its strides is 0");
    if (node.get(options::offset)) {
      for (int i = 0; i < begin.length; i++) {
        end[i] += begin[i];
      }
    }
  }

  static void convert(Node node) {
    if (!node.isKnown(1) || !node.isKnown(2) || !node.isKnown(3)) {
      Computed.stridedSlice(node);
      return;
    }
    StridedSlice slice = new StridedSlice(node);
    boolean plain = slice.ellipsisMask == 0 && slice.newAxisMask == 0;
    if (plain && !Strided.isBeyond(node.inOperand(0))) {
      slice.emit();
    } else {
      slice.emitStrided();
    }
  }

  private static boolean isSet(int mask, int index) {
    return (mask >> index & 1) != 0;
  }

  /** NNAPI wants every dimension named; those that are not are taken whole. */
  private void emit() {
    int rank = shape.rank();
    int named = begin.length;
    node.require(named <= rank, "it slices " + named + " dimensions of " + rank);
    int[] from = Arrays.copyOf(begin, rank);
    int[] to = Arrays.copyOf(end, rank);
    int[] steps = Arrays.copyOf(strides, rank);
    Arrays.fill(steps, named, rank, 1);
    int allFrom = beginMask;
    int allTo = endMask;
    int shrink = shrinkMask;
    for (int i = named; i < rank; i++) {
      allFrom |= 1 << i;
      allTo |= 1 << i;
      shrink &= ~(1 << i);
    }
    for (int i = 0; i < named; i++) {
      if (isSet(shrink, i) && shape.dimension(i) > 0) {
        // The one index counts, whatever the end says.
        from[i] = isSet(beginMask, i) ? 0 : counted(begin[i], shape.dimension(i));
        to[i] = from[i] + 1;
        allFrom &= ~(1 << i);
        allTo &= ~(1 << i);
      }
    }
    if (node.isScalar(node.output(0)) && shrink != 0) {
      // A scalar has one dimension here: the first stays.
      shrink &= shrink - 1;
    }
    node.emit(
        OperationCode.STRIDED_SLICE,
        node.out(0),
        node.in(0),
        node.int32Vector(from),
        node.int32Vector(to),
        node.int32Vector(steps),
        node.int32(allFrom),
        node.int32(allTo),
        node.int32(shrink));
  }

  private void emitStrided() {
    node.require(
        shape.isFullySpecified(), "it slices data of shape " + shape + ", not known beforehand");
    long[] dense = StridedCopy.strides(shape);
    List<Integer> dimensions = new ArrayList<>();
    List<Long> steps = new ArrayList<>();
    long offset = 0;
    int axis = 0;
    for (int i = 0; i < begin.length; i++) {
      if (isSet(ellipsisMask, i)) {
        int last = shape.rank() - namedAfter(i);
        for (; axis < last; axis++) {
          dimensions.add(shape.dimension(axis));
          steps.add(dense[axis]);
        }
      } else if (isSet(newAxisMask, i)) {
        dimensions.add(1);
        steps.add(0L);
      } else {
        node.require(axis < shape.rank(), "it slices more dimensions than " + shape + " has");
        int size = shape.dimension(axis);
        int first = first(i, size);
        if (!isSet(shrinkMask, i)) {
          dimensions.add(count(i, first, size));
          steps.add(dense[axis] * strides[i]);
        }
        offset += first * dense[axis];
        axis++;
      }
    }
    for (; axis < shape.rank(); axis++) {
      dimensions.add(shape.dimension(axis));
      steps.add(dense[axis]);
    }
    if (dimensions.isEmpty()) {
      dimensions.add(1);
      steps.add(1L);
    }
    Strided.emit(
        node,
        node.in(0),
        Shape.of(dimensions.stream().mapToInt(Integer::intValue).toArray()),
        offset,
        steps.stream().mapToLong(Long::longValue).toArray(),
        node.out(0));
  }

  /** Counts the data's dimensions that are named behind an ellipsis. */
  private int namedAfter(int ellipsis) {
    int named = 0;
    for (int i = ellipsis + 1; i < begin.length; i++) {
      named += isSet(newAxisMask, i) ? 0 : 1;
    }
    return named;
  }

  private static int counted(int index, int size) {
    return Math.clamp(index < 0 ? (long) index + size : index, 0, size - 1);
  }

  private int first(int index, int size) {
    if (isSet(shrinkMask, index)) {
      return isSet(beginMask, index) ? 0 : counted(begin[index], size);
    }
    if (strides[index] > 0) {
      return isSet(beginMask, index) ? 0 : bounded(begin[index], size, 0, size);
    }
    return isSet(beginMask, index) ? size - 1 : bounded(begin[index], size, -1, size - 1);
  }

  private int count(int index, int first, int size) {
    int stride = strides[index];
    int stop =
        stride > 0
            ? isSet(endMask, index) ? size : bounded(end[index], size, 0, size)
            : isSet(endMask, index) ? -1 : bounded(end[index], size, -1, size - 1);
    int way = stride > 0 ? stop - first : first - stop;
    return way <= 0 ? 0 : (way - 1) / Math.abs(stride) + 1;
  }

  private static int bounded(int index, int size, int least, int most) {
    return Math.clamp(index < 0 ? (long) index + size : index, least, most);
  }
}
