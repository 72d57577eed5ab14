// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.layout.Grid;
import java.util.Arrays;
import java.util.Optional;

/**
 * Transposed convolutions without the zeros between what they see. Of results that are a stride
 * apart, all see the same weights: for each place within a stride there is a convolution of stride
 * 1 with every stride-th weight. One convolution computes them all as channels, which are moved to
 * their places in the end. Every device has both.
 */
final class Phases {
  private static final int AXES = 2;

  private final int[] strides;

  /** By axis, the taps of the convolution; the last ones of some places are 0. */
  private final int[] taps = new int[AXES];

  private final int[] before = new int[AXES];
  private final int[] after = new int[AXES];

  /** By axis, the results that are cut away in front of those that are asked for. */
  private final int[] cut = new int[AXES];

  private Phases(int[] strides) {
    this.strides = strides;
  }

  /**
   * Convolves over one or two axes.
   *
   * @param weights by channel of the value, channel of the result, and taps
   * @param bias null for none
   * @param pads by axis, the results cut away at its begin, then those at its end
   * @param output sizes of the result by axis
   * @return nothing for what has no such form
   */
  static Optional<Value> convolve(
      Ops ops, Value value, Value weights, Value bias, int[] strides, int[] pads, int[] output) {
    boolean isKnown = value.type().isFloat() && weights.type() == value.type();
    if (!isKnown || !weights.isConstant() || Arrays.stream(strides).allMatch(one -> one == 1)) {
      return Optional.empty();
    }
    if (strides.length == 1) {
      Value flat = ops.reshape(value, Dims.insert(value.shape(), 2, 1));
      Value filter = ops.reshape(weights, Dims.insert(weights.shape(), 2, 1));
      int[] all = {0, pads[0], 0, pads[1]};
      return convolve(
              ops, flat, filter, bias, new int[] {1, strides[0]}, all, Dims.insert(output, 0, 1))
          .map(result -> ops.reshape(result, Dims.remove(result.shape(), 2)));
    }
    if (strides.length != AXES || strides[0] != 1 && strides[0] != strides[1]) {
      return Optional.empty();
    }
    Phases phases = new Phases(strides);
    for (int i = 0; i < AXES; i++) {
      int kernel = weights.dim(2 + i);
      if (!phases.place(i, value.dim(2 + i), kernel, pads[i], output[i])) {
        return Optional.empty();
      }
    }
    return Optional.of(phases.emit(ops, value, weights, bias, output));
  }

  /**
   * Finds the windows along an axis; returns false if some would begin behind the value, or if most
   * places within a stride see nothing, whose weights would be many zeros.
   */
  private boolean place(int axis, int size, int kernel, int pad, int output) {
    int stride = strides[axis];
    if (pad < 0 || stride < 1 || stride > 2L * kernel) {
      return false;
    }
    int first = pad / stride;
    int last = (pad + output - 1) / stride;
    taps[axis] = Math.ceilDiv(kernel, stride);
    before[axis] = taps[axis] - 1 - first;
    after[axis] = last - first + taps[axis] - size - before[axis];
    cut[axis] = pad % stride;
    return before[axis] >= 0 && after[axis] >= 0;
  }

  private Value emit(Ops ops, Value value, Value weights, Value bias, int[] output) {
    int units = weights.dim(1);
    int places = strides[0] * strides[1];
    Emitter.require(
        bias == null || bias.rank() == 1 && bias.dim(0) == units,
        "its bias does not fit its weights");
    Value added =
        bias == null
            ? ops.fill(value.type(), new int[] {places * units}, 0)
            : ops.reshape(ops.expand(ops.reshape(bias, 1, units), places, units), places * units);
    Integer[] inputs = {
      ops.operand(ops.transpose(value, Convolution.CHANNELS_LAST)),
      ops.operand(filter(ops, weights)),
      ops.operand(added),
      ops.int32(before[1]),
      ops.int32(after[1]),
      ops.int32(before[0]),
      ops.int32(after[0]),
      ops.int32(1),
      ops.int32(1),
      ops.int32(0)
    };
    int height = positions(0, value);
    int width = positions(1, value);
    int[] deep = {value.dim(0), height, width, places * units};
    int[] wide = {value.dim(0), height * strides[0], width * strides[1], units};
    Value result = ops.emitSized(value.type(), deep, OperationCode.CONV_2D, inputs);
    result =
        strides[0] == 1
            ? ops.reshape(result, wide)
            : ops.emitSized(
                value.type(),
                wide,
                OperationCode.DEPTH_TO_SPACE,
                ops.operand(result),
                ops.int32(strides[0]));
    for (int i = 0; i < AXES; i++) {
      if (result.dim(1 + i) != output[i]) {
        result = ops.part(result, 1 + i, cut[i], output[i]);
      }
    }
    return ops.transpose(result, Convolution.CHANNELS_FIRST);
  }

  private int positions(int axis, Value value) {
    return before[axis] + value.dim(2 + axis) + after[axis] - taps[axis] + 1;
  }

  /** Weights by place within a stride and channel of the result, tap, and channel of the value. */
  private Value filter(Ops ops, Value weights) {
    int[] missing = new int[2 + AXES];
    for (int i = 0; i < AXES; i++) {
      missing[2 + i] = taps[i] * strides[i] - weights.dim(2 + i);
    }
    int channels = weights.dim(0);
    int units = weights.dim(1);
    Value apart =
        ops.reshape(
            ops.pad(weights, new int[2 + AXES], missing, 0),
            channels,
            units,
            taps[0],
            strides[0],
            taps[1],
            strides[1]);
    // The first tap sees what stands first, whose weight is the last one.
    Value turned = ops.reverse(ops.reverse(apart, 2), 4);
    int places = strides[0] * strides[1];
    Value moved = ops.transpose(turned, 3, 5, 1, 2, 4, 0);
    Value filter = ops.reshape(moved, places * units, taps[0], taps[1], channels);
    Grid grid = weights.grid();
    return grid == null ? filter : filter.with(grid.repeated(1, places));
  }
}
