// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Convolutions whose windows take their elements from places that are computed: all elements are
 * sampled, those of one window beside each other, and convolved by steps as long as the window.
 */
final class DeformableConvolution {
  private DeformableConvolution() {}

  static void convert(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    Value weights = node.in(1);
    Value offsets = node.in(2);
    int axes = weights.rank() - 2;
    node.require(
        axes > 0 && value.rank() == weights.rank() && value.type().isFloat(),
        "it has the inputs " + value.text() + " and " + weights.text());
    int[] kernel = Arrays.copyOfRange(weights.shape(), 2, weights.rank());
    Frame frame = Frame.of(node, value.shape(), kernel);
    int[] output = frame.output();
    int groups = node.setting("offset_group", 1);
    int batch = value.dim(0);
    int cells = Dims.count(kernel);
    node.require(
        groups > 0
            && value.dim(1) % groups == 0
            && fits(offsets, batch, groups * cells * axes, output),
        offsets.text() + " are no offsets of its windows");
    int stacks = batch * groups;
    int[] sizes = Arrays.copyOfRange(value.shape(), 2, value.rank());
    Value stacked = ops.reshape(value, Dims.join(new int[] {stacks, value.dim(1) / groups}, sizes));
    Value moved =
        beside(ops, ops.cast(offsets, DataType.FLOAT), new int[] {stacks, cells, axes}, frame);
    int[] wide = new int[axes];
    Arrays.setAll(wide, i -> output[i] * kernel[i]);
    int places = Dims.count(wide);
    List<List<GridSampling.Tap>> taps = new ArrayList<>();
    for (int axis = 0; axis < axes; axis++) {
      Value offset = ops.reshape(ops.at(moved, 1, axis), Dims.join(new int[] {stacks}, wide));
      Value place = ops.reshape(ops.add(offset, places(ops, frame, axis)), stacks, places);
      taps.add(GridSampling.around(node, place, sizes[axis], "linear", "zeros", true));
    }
    Value sampled = GridSampling.sampled(ops, stacked, taps);
    Value mask = node.inOrNull(4);
    if (mask != null) {
      node.require(
          mask.type() == value.type() && fits(mask, batch, groups * cells, output),
          mask.text() + " is no mask of its windows");
      Value factors = beside(ops, mask, new int[] {stacks, cells, 1}, frame);
      sampled = ops.mul(sampled, ops.reshape(factors, stacks, places, 1));
    }
    Value rows =
        ops.transpose(
            ops.reshape(sampled, batch, groups, places, value.dim(1) / groups), 0, 1, 3, 2);
    Value image = ops.reshape(rows, Dims.join(new int[] {batch, value.dim(1)}, wide));
    int[] none = new int[axes];
    Frame steps = new Frame(kernel, kernel, Dims.ones(axes), none, none, output);
    Value bias = node.inOrNull(3);
    node.out(Convolution.convolve(ops, image, weights, bias, steps, node.setting("group", 1)));
  }

  private static boolean fits(Value value, int batch, int channels, int[] output) {
    return Arrays.equals(value.shape(), Dims.join(new int[] {batch, channels}, output));
  }

  /**
   * What windows have for each cell, with the cells of a window beside each other.
   *
   * @param value {@code [batch, stacks * cells * each, positions...]}
   * @param sizes of stacks, of the cells of a window, and of what each cell has
   * @return {@code [stacks, each, positions * cells...]}
   */
  private static Value beside(Ops ops, Value value, int[] sizes, Frame frame) {
    int axes = frame.kernel().length;
    int[] full =
        Dims.join(new int[] {sizes[0]}, frame.kernel(), new int[] {sizes[2]}, frame.output());
    int[] order = new int[full.length];
    order[1] = 1 + axes;
    int[] wide = new int[2 + axes];
    wide[0] = sizes[0];
    wide[1] = sizes[2];
    for (int i = 0; i < axes; i++) {
      order[2 + 2 * i] = 2 + axes + i;
      order[3 + 2 * i] = 1 + i;
      wide[2 + i] = frame.output()[i] * frame.kernel()[i];
    }
    return ops.reshape(ops.transpose(ops.reshape(value, full), order), wide);
  }

  /** Where along an axis windows would find their cells without offsets. */
  private static Value places(Ops ops, Frame frame, int axis) {
    int kernel = frame.kernel()[axis];
    double[] places = ops.budget().doubles(frame.output()[axis] * kernel);
    for (int i = 0; i < places.length; i++) {
      places[i] =
          i / kernel * frame.strides()[axis]
              + i % kernel * frame.dilations()[axis]
              - frame.before()[axis];
    }
    int rank = 1 + frame.kernel().length;
    return ops.constant(DataType.FLOAT, Dims.along(rank, 1 + axis, places.length), places);
  }
}
