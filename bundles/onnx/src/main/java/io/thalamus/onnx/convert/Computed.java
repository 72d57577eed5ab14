// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;

/**
 * Slices and paddings whose places only an execution determines, where the file states the shape of
 * the result: the places along each axis are computed as integers, and gathered.
 */
final class Computed {
  private Computed() {}

  /** Along each axis that is changed: {@code place = start + i * step}. */
  static void slice(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int[] shape = node.stated(0, 1);
    node.require(shape.length == value.rank(), "its result has another number of dimensions");
    Value result = value;
    Value isMeant = ops.number(DataType.BOOL, 1);
    for (int axis = 0; axis < value.rank(); axis++) {
      Value start = chosen(node, 1, axis, 0);
      Value step = chosen(node, 4, axis, 1);
      int size = value.dim(axis);
      Value zero = ops.number(DataType.INT32, 0);
      Value counted = ops.select(ops.binary(Binary.LESS, start, zero), ops.add(start, size), start);
      // A start beyond the end is the last place where steps go backwards.
      Value first = ops.min(ops.max(counted, 0), size - 1);
      Value numbers = ops.range(shape[axis]);
      Value places = ops.add(first, ops.mul(numbers, step));
      Value isStated =
          ops.binary(
              Binary.EQUAL,
              length(ops, counted, end(node, axis, step), step, size),
              ops.number(DataType.INT32, shape[axis]));
      result = ops.gather(result, axis, ops.min(ops.max(places, 0), size - 1));
      isMeant = ops.binary(Binary.AND, isMeant, isStated);
    }
    node.out(ops.only(result, isMeant));
  }

  /** The end along an axis, counted from 0. */
  private static Value end(Node node, int axis, Value step) {
    Ops ops = node.ops();
    Value given = chosen(node, 2, axis, Integer.MAX_VALUE);
    Value isBackwards = ops.binary(Binary.LESS, step, ops.number(DataType.INT32, 0));
    Value end = ops.select(isBackwards, SliceBounds.backwards(ops, given), given);
    Value isBehind = ops.binary(Binary.LESS, end, ops.number(DataType.INT32, 0));
    return ops.select(isBehind, ops.add(end, node.in(0).dim(axis)), end);
  }

  /** The number of elements from a start to an end, both counted from 0. */
  private static Value length(Ops ops, Value start, Value end, Value step, int size) {
    Value isForward = ops.binary(Binary.GREATER, step, ops.number(DataType.INT32, 0));
    Value one = ops.number(DataType.INT32, 1);
    Value shift = ops.select(isForward, ops.number(DataType.INT32, 0), one);
    Value most = ops.sub(ops.number(DataType.INT32, size), shift);
    Value first = ops.binary(Binary.MINIMUM, ops.max(start, 0), most);
    Value least = ops.unary(Unary.NEG, shift);
    Value last = ops.binary(Binary.MAXIMUM, ops.binary(Binary.MINIMUM, end, most), least);
    // A step of 0 is none; its length is none that a file states.
    Value isStep = ops.binary(Binary.NOT_EQUAL, step, ops.number(DataType.INT32, 0));
    Value back = ops.sub(first, last);
    Value count =
        ops.unary(Unary.NEG, ops.binary(Binary.FLOOR_DIV, back, ops.select(isStep, step, one)));
    return ops.select(isStep, ops.max(count, 0), ops.number(DataType.INT32, -1));
  }

  /** The number that is given for an axis, or what it is otherwise. */
  private static Value chosen(Node node, int input, int axis, int otherwise) {
    Ops ops = node.ops();
    return node.has(input)
        ? chosen(node, ops.cast(node.in(input), DataType.INT32), axis, otherwise)
        : ops.number(DataType.INT32, otherwise);
  }

  private static Value chosen(Node node, Value given, int axis, int otherwise) {
    Ops ops = node.ops();
    if (!node.has(3)) {
      return axis < given.dim(0) ? ops.at(given, 0, axis) : ops.number(DataType.INT32, otherwise);
    }
    Value axes = ops.cast(node.in(3), DataType.INT32);
    int rank = node.in(0).rank();
    Value result = ops.number(DataType.INT32, otherwise);
    for (int i = 0; i < axes.dim(0); i++) {
      Value named = ops.at(axes, 0, i);
      Value isMeant =
          ops.binary(
              Binary.OR,
              ops.binary(Binary.EQUAL, named, ops.number(DataType.INT32, axis)),
              ops.binary(Binary.EQUAL, named, ops.number(DataType.INT32, axis - rank)));
      result = ops.select(isMeant, ops.at(given, 0, i), result);
    }
    return result;
  }

  /** Along each axis: {@code place = i - before}, brought within the axis as the mode says. */
  static void pad(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int[] shape = node.stated(0, 1);
    node.require(shape.length == value.rank(), "its result has another number of dimensions");
    Value pads = ops.cast(node.in(1), DataType.INT32);
    String mode = node.text("mode", "constant");
    Value number = node.has(2) ? ops.reshape(node.in(2)) : ops.number(value.type(), 0);
    Value result = value;
    Value isInside = ops.number(DataType.BOOL, 1);
    for (int axis = 0; axis < value.rank(); axis++) {
      int size = value.dim(axis);
      Value before = chosen(node, pads, axis, 0);
      Value numbers = ops.range(shape[axis]);
      Value places = ops.sub(numbers, before);
      Value within = ops.min(ops.max(places, 0), size - 1);
      Value isOn = ops.binary(Binary.EQUAL, places, within);
      isInside = ops.binary(Binary.AND, isInside, OpenSizes.along(ops, isOn, value.rank(), axis));
      result = ops.gather(result, axis, source(node, places, within, size, mode));
    }
    node.out(mode.equals("constant") ? ops.select(isInside, result, number) : result);
  }

  private static Value source(Node node, Value places, Value within, int size, String mode) {
    Ops ops = node.ops();
    return switch (mode) {
      case "constant", "edge" -> within;
      case "wrap" -> ops.remainder(places, ops.number(DataType.INT32, size), false);
      case "reflect" -> {
        int period = Math.max(1, 2 * (size - 1));
        Value folded = ops.remainder(places, ops.number(DataType.INT32, period), false);
        Value back = ops.sub(ops.number(DataType.INT32, period), folded);
        yield ops.binary(Binary.MINIMUM, folded, back);
      }
      default -> throw node.refuse("its mode is " + mode);
    };
  }
}
