// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;

/**
 * Resize whose scales, sizes or cut only an execution tells, where the file states the shape of the
 * result: the factors of each axis are computed as {@link io.thalamus.onnx.fold.Resampling} has
 * them.
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

  private ComputedResize(Node node, int[] axes, String transformation, boolean bySize, int unknown)
      throws ModelFormatException {
    this.node = node;
    this.ops = node.ops();
    this.value = node.in(0);
    this.axes = axes;
    this.transformation = transformation;
    this.bySize = bySize;
    this.shape = node.stated(0, unknown);
  }

  /**
   * Converts it.
   *
   * @param bySize whether the last input has the sizes of the result
   * @param unknown an input that is not known
   */
  static void resize(Node node, int[] axes, String transformation, boolean bySize, int unknown)
      throws ModelFormatException {
    new ComputedResize(node, axes, transformation, bySize, unknown).resize();
  }

  private void resize() throws ModelFormatException {
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
      if (shape[axis] == 1 && value.dim(axis) == 1) {
        continue;
      }
      Value scale = scale(i);
      Value place = place(i, scale);
      if (isNearest) {
        Value index = ops.cast(rounded(place), DataType.INT32);
        Value within = ops.min(ops.max(index, 0), value.dim(axis) - 1);
        result = ops.gather(result, axis, ops.reshape(within, shape[axis]));
      } else {
        result = along(result, axis, weights(axis, place, scale, mode.equals("linear") ? 1 : 2));
      }
      if (isCut) {
        Value here =
            ops.binary(
                Binary.OR,
                ops.binary(Binary.LESS, place, ops.number(REAL, 0)),
                ops.binary(Binary.GREATER, place, ops.number(REAL, value.dim(axis) - 1)));
        int[] alone = new int[value.rank()];
        Arrays.fill(alone, 1);
        alone[axis] = shape[axis];
        Value turned = ops.reshape(here, alone);
        outside = outside == null ? turned : ops.binary(Binary.OR, outside, turned);
      }
    }
    node.out(
        outside == null
            ? result
            : ops.select(
                outside, ops.number(value.type(), node.real("extrapolation_value", 0)), result));
  }

  private Value scale(int i) throws ModelFormatException {
    String policy = node.text("keep_aspect_ratio_policy", "stretch");
    if (!bySize) {
      return part(node.opset() < 11 ? 1 : 2, i);
    }
    if (policy.equals("stretch")) {
      return ops.mul(part(3, i), 1.0 / value.dim(axes[i]));
    }
    boolean isSmaller = policy.equals("not_larger");
    node.require(isSmaller || policy.equals("not_smaller"), "its policy is " + policy);
    Value common = null;
    for (int k = 0; k < axes.length; k++) {
      Value own = ops.mul(part(3, k), 1.0 / value.dim(axes[k]));
      common =
          common == null
              ? own
              : ops.binary(isSmaller ? Binary.MINIMUM : Binary.MAXIMUM, common, own);
    }
    return common;
  }

  /** One number of an input. */
  private Value part(int input, int place) throws ModelFormatException {
    Value numbers = node.in(input);
    node.require(numbers.rank() == 1 && place < numbers.dim(0), "its numbers do not fit its axes");
    return ops.reshape(ops.cast(ops.at(numbers, 0, place), REAL), 1, 1);
  }

  private Value column(int count, double first) throws ModelFormatException {
    double[] numbers = ops.budget().doubles(count);
    Arrays.setAll(numbers, i -> first + i);
    return ops.constant(REAL, new int[] {count, 1}, numbers);
  }

  /** The places in the axis of all elements of the result, below each other. */
  private Value place(int i, Value scale) throws ModelFormatException {
    int input = value.dim(axes[i]);
    int output = shape[axes[i]];
    Value number = column(output, 0);
    Value half = column(output, 0.5);
    Value centered = ops.add(ops.div(half, scale), -0.5);
    Value length = ops.mul(scale, input);
    return switch (transformation) {
      case "asymmetric" -> ops.div(number, scale);
      case "half_pixel" -> centered;
      case "pytorch_half_pixel" -> output > 1 ? centered : ops.number(REAL, 0);
      case "tf_half_pixel_for_nn" -> ops.div(half, scale);
      case "align_corners" -> {
        Value ends = ops.div(ops.mul(number, input - 1), ops.add(length, -1));
        Value isOne = ops.binary(Binary.EQUAL, length, ops.number(REAL, 1));
        yield ops.select(isOne, ops.number(REAL, 0), ends);
      }
      case "half_pixel_symmetric" -> {
        Value adjustment = ops.div(ops.number(REAL, output), length);
        Value center = ops.mul(ops.add(ops.mul(adjustment, -1), 1), input / 2.0);
        yield ops.add(center, centered);
      }
      case "tf_crop_and_resize" -> cut(i, number);
      default -> throw node.refuse("its coordinates are transformed by " + transformation);
    };
  }

  private Value cut(int i, Value number) throws ModelFormatException {
    int input = value.dim(axes[i]);
    int output = shape[axes[i]];
    Value start = part(1, i);
    Value end = part(1, i + axes.length);
    if (output == 1) {
      return ops.mul(ops.add(start, end), 0.5 * (input - 1));
    }
    Value step = ops.mul(ops.sub(end, start), (input - 1) / (output - 1.0));
    return ops.add(ops.mul(start, input - 1), ops.mul(number, step));
  }

  private Value rounded(Value place) throws ModelFormatException {
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
  private Value weights(int axis, Value place, Value scale, int reach) throws ModelFormatException {
    int input = value.dim(axis);
    boolean isSmoothed = node.flag("antialias", false);
    boolean excludesOutside = node.flag("exclude_outside", false);
    int stretched = isSmoothed ? Math.ceilDiv(input, shape[axis]) : 1;
    int margin = excludesOutside ? 0 : reach * stretched + 1;
    int neighbours = input + 2 * margin;
    Value row = ops.reshape(column(neighbours, -margin), 1, neighbours);
    Value distance = ops.unary(Unary.ABS, ops.sub(place, row));
    if (isSmoothed) {
      distance = ops.mul(distance, ops.min(scale, 1));
    }
    Value weights = reach == 1 ? ops.max(ops.add(ops.mul(distance, -1), 1), 0) : cubic(distance);
    if (isSmoothed || excludesOutside) {
      weights = ops.div(weights, ops.reduce(Reduction.SUM, weights, 1));
    }
    return margin == 0 ? weights : ops.multiply(weights, folded(input, margin), false);
  }

  /** Returns the matrix in which an index outside stands for the element at that end. */
  private Value folded(int input, int margin) throws ModelFormatException {
    int neighbours = input + 2 * margin;
    double[] ones = ops.budget().doubles(Math.multiplyExact(neighbours, input));
    for (int i = 0; i < neighbours; i++) {
      ones[i * input + Math.clamp(i - margin, 0, input - 1)] = 1;
    }
    return ops.constant(REAL, new int[] {neighbours, input}, ones);
  }

  private Value cubic(Value x) throws ModelFormatException {
    double a = node.real("cubic_coeff_a", -0.75f);
    Value square = ops.square(x);
    Value near = ops.add(ops.mul(ops.add(ops.mul(x, a + 2), -(a + 3)), square), 1);
    Value inner = ops.add(ops.mul(ops.add(x, -5), x), 8);
    Value far = ops.add(ops.mul(ops.mul(inner, x), a), -4 * a);
    Value isNear = ops.binary(Binary.LESS_EQUAL, x, ops.number(REAL, 1));
    Value isFar = ops.binary(Binary.LESS, x, ops.number(REAL, 2));
    return ops.select(isNear, near, ops.select(isFar, far, ops.number(REAL, 0)));
  }

  private Value along(Value data, int axis, Value weights) throws ModelFormatException {
    int size = data.dim(axis);
    Value moved = ops.toEnd(data, axis);
    Value rows = ops.reshape(moved, data.count() / size, size);
    Value product = ops.multiply(rows, ops.cast(weights, data.type()), true);
    int[] back = Dims.inverse(Dims.join(MoveOps.others(data.rank(), axis), new int[] {axis}));
    int[] turned = Dims.with(moved.shape(), moved.rank() - 1, shape[axis]);
    return ops.transpose(ops.reshape(product, turned), back);
  }
}
