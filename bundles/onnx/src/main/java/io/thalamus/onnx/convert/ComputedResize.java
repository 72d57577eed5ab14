// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;

/**
 * Resize whose scales, sizes or cut only an execution determines: the factors of each axis are
 * computed as {@link io.thalamus.onnx.fold.Resampling} has them. The sizes of the result are those
 * that the file states or the inputs tell; 0 stands for one that only an execution determines.
 */
final class ComputedResize {
  private static final DataType REAL = DataType.FLOAT;

  private final Node node;
  private final Ops ops;
  private final Value value;
  private final int[] axes;
  private final String transformation;
  private final boolean bySize;
  private final int[] shape;

  private ComputedResize(Node node, int[] axes, String transformation, boolean bySize) {
    this.node = node;
    this.ops = node.ops();
    this.value = node.openIn(0);
    this.axes = axes;
    this.transformation = transformation;
    this.bySize = bySize;
    int[] stated = node.declared(0);
    this.shape = stated != null && Dims.count(stated) > 0 ? stated : told();
  }

  /**
   * Converts it.
   *
   * @param bySize whether the last input has the sizes of the result
   */
  static void resize(Node node, int[] axes, String transformation, boolean bySize) {
    new ComputedResize(node, axes, transformation, bySize).resize();
  }

  /** The sizes of the result as far as the inputs tell them. */
  private int[] told() {
    int[] told = value.shape().clone();
    Sizes sizes = bySize && isStretched() ? Sizes.of(node.in(3)) : null;
    for (int i = 0; i < axes.length; i++) {
      long size = sizes == null ? Sizes.UNKNOWN : sizes.get(i);
      node.require(size > 0 || size == Sizes.UNKNOWN, "its result has no elements");
      told[axes[i]] = size == Sizes.UNKNOWN ? 0 : Math.toIntExact(size);
    }
    return told;
  }

  private boolean isStretched() {
    return node.text("keep_aspect_ratio_policy", "stretch").equals("stretch");
  }

  private void resize() {
    node.require(shape.length == value.rank(), "its result has another number of dimensions");
    String mode = node.text("mode", "nearest");
    boolean isNearest = mode.equals("nearest");
    node.require(
        isNearest || value.type().isFloat() && (mode.equals("linear") || mode.equals("cubic")),
        "it samples " + value.text() + " by " + mode);
    boolean isCut = transformation.equals("tf_crop_and_resize");
    Value result = value;
    Value outside = null;
    for (int i = 0; i < axes.length; i++) {
      int axis = axes[i];
      boolean isSame =
          shape[axis] == value.dim(axis)
              && shape[axis] > 0
              && (shape[axis] == 1 || bySize && isStretched());
      if (isSame && !isCut) {
        continue;
      }
      node.require(value.dim(axis) > 0, "it samples an open axis of " + value.text());
      Value scale = scale(i);
      Value place = place(i, scale);
      if (isNearest) {
        Value index = ops.cast(rounded(place), DataType.INT32);
        Value within = ops.min(ops.max(index, 0), value.dim(axis) - 1);
        Value line = ops.reshape(within, shape[axis]);
        result = ops.gather(result, axis, line);
      } else {
        result = along(result, axis, weights(axis, place, scale, mode.equals("linear") ? 1 : 2));
      }
      if (isCut) {
        Value here =
            ops.binary(
                Binary.OR,
                ops.binary(Binary.LESS, place, ops.number(REAL, 0)),
                ops.binary(Binary.GREATER, place, ops.number(REAL, value.dim(axis) - 1)));
        Value turned = ops.reshape(here, Dims.along(value.rank(), axis, shape[axis]));
        outside = outside == null ? turned : ops.binary(Binary.OR, outside, turned);
      }
    }
    node.out(
        outside == null
            ? result
            : ops.select(
                outside, ops.number(value.type(), node.real("extrapolation_value", 0)), result));
  }

  private Value scale(int i) {
    String policy = node.text("keep_aspect_ratio_policy", "stretch");
    if (!bySize) {
      return part(node.opset() < 11 ? 1 : 2, i);
    }
    if (isStretched()) {
      return ratio(i);
    }
    boolean isSmaller = policy.equals("not_larger");
    node.require(isSmaller || policy.equals("not_smaller"), "its policy is " + policy);
    Value common = null;
    for (int k = 0; k < axes.length; k++) {
      Value own = ratio(k);
      common =
          common == null
              ? own
              : ops.binary(isSmaller ? Binary.MINIMUM : Binary.MAXIMUM, common, own);
    }
    return common;
  }

  /** The size of the result for each element of an axis, as ONNX Runtime rounds it. */
  private Value ratio(int i) {
    return ops.div(part(3, i), ops.number(REAL, value.dim(axes[i])));
  }

  /** How many elements the result has along an axis. */
  private Value size(int i, Value scale) {
    int axis = axes[i];
    if (shape[axis] > 0) {
      return ops.number(REAL, shape[axis]);
    }
    if (bySize && isStretched()) {
      return part(3, i);
    }
    Value exact = ops.mul(scale, value.dim(axis));
    return ops.unary(Unary.FLOOR, bySize ? ops.add(exact, 0.5) : exact);
  }

  /** One number of an input. */
  private Value part(int input, int place) {
    Value numbers = node.in(input);
    node.require(numbers.rank() == 1 && place < numbers.dim(0), "its numbers do not fit its axes");
    return ops.reshape(ops.cast(ops.at(numbers, 0, place), REAL), 1, 1);
  }

  private Value column(int count, double first) {
    double[] numbers = ops.budget().doubles(count);
    Arrays.setAll(numbers, i -> first + i);
    return ops.constant(REAL, new int[] {count, 1}, numbers);
  }

  /** The numbers from 0 on, as many as the result has elements along an axis, below each other. */
  private Value numbers(int i, Value size) {
    if (shape[axes[i]] > 0) {
      return column(shape[axes[i]], 0);
    }
    Value count = ops.reshape(ops.cast(size, DataType.INT32), 1);
    Value ones = OpenSizes.fill(ops, DataType.INT32, new int[1], count, 1);
    Value places = ops.cast(OpenSizes.places(ops, ones, 0), REAL);
    return OpenSizes.along(ops, places, 2, 0);
  }

  /** The places in the axis of all elements of the result, below each other. */
  private Value place(int i, Value scale) {
    int input = value.dim(axes[i]);
    Value size = size(i, scale);
    Value number = numbers(i, size);
    Value half = ops.add(number, 0.5);
    Value centered = ops.add(ops.div(half, scale), -0.5);
    Value length = ops.mul(scale, input);
    return switch (transformation) {
      case "asymmetric" -> ops.div(number, scale);
      case "half_pixel" -> centered;
      case "pytorch_half_pixel" -> {
        Value isMore = ops.binary(Binary.GREATER, size, ops.number(REAL, 1));
        yield ops.select(isMore, centered, ops.number(REAL, 0));
      }
      case "tf_half_pixel_for_nn" -> ops.div(half, scale);
      case "align_corners" -> {
        Value ends = ops.div(ops.mul(number, input - 1), ops.add(length, -1));
        Value isOne = ops.binary(Binary.EQUAL, length, ops.number(REAL, 1));
        yield ops.select(isOne, ops.number(REAL, 0), ends);
      }
      case "half_pixel_symmetric" -> {
        Value adjustment = ops.div(size, length);
        Value center = ops.mul(ops.add(ops.mul(adjustment, -1), 1), input / 2.0);
        yield ops.add(center, centered);
      }
      case "tf_crop_and_resize" -> cut(i, number, size);
      default -> throw node.refuse("its coordinates are transformed by " + transformation);
    };
  }

  private Value cut(int i, Value number, Value size) {
    int input = value.dim(axes[i]);
    Value start = part(1, i);
    Value end = part(1, i + axes.length);
    Value middle = ops.mul(ops.add(start, end), 0.5 * (input - 1));
    Value ways = ops.max(ops.add(size, -1), 1);
    Value step = ops.div(ops.mul(ops.sub(end, start), input - 1), ways);
    Value many = ops.add(ops.mul(start, input - 1), ops.mul(number, step));
    Value isOne = ops.binary(Binary.EQUAL, size, ops.number(REAL, 1));
    return ops.select(isOne, middle, many);
  }

  private Value rounded(Value place) {
    String nearest = node.opset() < 11 ? "floor" : node.text("nearest_mode", "round_prefer_floor");
    return switch (nearest) {
      case "floor" -> ops.unary(Unary.FLOOR, place);
      case "ceil" -> ops.ceil(place);
      case "round_prefer_floor" -> ops.ceil(ops.add(place, -0.5));
      case "round_prefer_ceil" -> ops.unary(Unary.FLOOR, ops.add(place, 0.5));
      default -> throw node.refuse("its places are rounded by " + nearest);
    };
  }

  /**
   * The factors {@code [output, input]} of an axis: those of all neighbours, of which the ones
   * outside count nothing, or for the nearest one inside.
   */
  private Value weights(int axis, Value place, Value scale, int reach) {
    int input = value.dim(axis);
    boolean isSmoothed = node.flag("antialias", false);
    boolean excludesOutside = node.flag("exclude_outside", false);
    int stretched = isSmoothed ? Math.ceilDiv(input, Math.max(shape[axis], 1)) : 1;
    int margin = excludesOutside ? 0 : reach * stretched + 1;
    int neighbours = input + 2 * margin;
    Value row = ops.reshape(column(neighbours, -margin), 1, neighbours);
    Value distance = ops.unary(Unary.ABS, ops.sub(place, row));
    if (isSmoothed) {
      distance = ops.mul(distance, ops.min(scale, 1));
    }
    Value weights = reach == 1 ? ops.max(ops.add(ops.mul(distance, -1), 1), 0) : cubic(distance);
    if (isSmoothed || excludesOutside) {
      Value sum = ops.reduce(Reduction.SUM, weights, 1);
      weights = ops.div(weights, sum);
    }
    return margin == 0 ? weights : ops.multiply(weights, folded(input, margin), false);
  }

  /** Returns the matrix in which an index outside stands for the element at that end. */
  private Value folded(int input, int margin) {
    int neighbours = input + 2 * margin;
    double[] ones = ops.budget().doubles(Math.multiplyExact(neighbours, input));
    for (int i = 0; i < neighbours; i++) {
      ones[i * input + Math.clamp(i - margin, 0, input - 1)] = 1;
    }
    return ops.constant(REAL, new int[] {neighbours, input}, ones);
  }

  private Value cubic(Value x) {
    double a = node.real("cubic_coeff_a", -0.75f);
    Value square = ops.square(x);
    Value near = ops.add(ops.mul(ops.add(ops.mul(x, a + 2), -(a + 3)), square), 1);
    Value inner = ops.add(ops.mul(ops.add(x, -5), x), 8);
    Value far = ops.add(ops.mul(ops.mul(inner, x), a), -4 * a);
    Value isNear = ops.binary(Binary.LESS_EQUAL, x, ops.number(REAL, 1));
    Value isFar = ops.binary(Binary.LESS, x, ops.number(REAL, 2));
    return ops.select(isNear, near, ops.select(isFar, far, ops.number(REAL, 0)));
  }

  private Value along(Value data, int axis, Value weights) {
    int size = data.dim(axis);
    if (data.isOpen() || weights.isOpen()) {
      int[] others = MoveOps.others(data.rank(), axis);
      int[] order = Dims.join(others, new int[] {axis});
      Value last = ops.transpose(data, order);
      Value turned = ops.transpose(ops.cast(weights, data.type()), 1, 0);
      for (int rank = 2; rank < data.rank(); rank++) {
        turned = OpenSizes.expandDims(ops, turned, 0);
      }
      node.require(data.rank() > 1, "it samples " + data.text());
      return ops.transpose(ops.multiply(last, turned, false), Dims.inverse(order));
    }
    Value moved = ops.toEnd(data, axis);
    Value rows = ops.reshape(moved, data.count() / size, size);
    Value product = ops.multiply(rows, ops.cast(weights, data.type()), true);
    int[] back = Dims.inverse(Dims.join(MoveOps.others(data.rank(), axis), new int[] {axis}));
    int[] turned = Dims.with(moved.shape(), moved.rank() - 1, shape[axis]);
    return ops.transpose(ops.reshape(product, turned), back);
  }
}
