// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.fold.Dims;

/**
 * The way of a window over the spatial dimensions of a value, which are those behind the first two.
 *
 * @param kernel sizes of the window
 * @param strides steps
 * @param dilations distances of the cells of the window
 * @param before padding in front
 * @param after padding behind
 * @param output how many positions there are
 */
record Frame(
    int[] kernel, int[] strides, int[] dilations, int[] before, int[] after, int[] output) {

  /**
   * The window over flat images one of whose sides only an execution tells: there is no number of
   * positions along that one.
   */
  static Frame open(Node node, Value value, int... kernel) {
    int[] shape = value.shape().clone();
    int rank = shape.length - 2;
    node.require(
        (rank == 1 || rank == 2)
            && kernel.length == rank
            && shape[0] > 0
            && shape[1] > 0
            && !node.text("auto_pad", "NOTSET").startsWith("SAME")
            && !node.flag("ceil_mode", false),
        value.text() + " has an open size that its window does not allow");
    int[] dilations = node.list("dilations", rank, 1);
    for (int i = 0; i < rank; i++) {
      // Large enough for one window.
      int reach = Math.addExact(Math.multiplyExact(kernel[i], dilations[i]), 1);
      shape[i + 2] = shape[i + 2] == 0 ? reach : shape[i + 2];
    }
    Frame frame = of(node, shape, kernel);
    for (int i = 0; i < rank; i++) {
      frame.output[i] = value.dim(i + 2) == 0 ? 0 : frame.output[i];
    }
    return frame;
  }

  /** The window that the settings of a node describe. */
  static Frame of(Node node, int[] input, int[] kernel) {
    int rank = kernel.length;
    node.require(input.length == rank + 2, "its window does not fit the shape " + Dims.text(input));
    int[] strides = node.list("strides", rank, 1);
    int[] dilations = node.list("dilations", rank, 1);
    int[] pads = node.list("pads", 2 * rank, 0);
    String auto = node.text("auto_pad", "NOTSET");
    boolean isCeil = node.flag("ceil_mode", false);
    int[] before = new int[rank];
    int[] after = new int[rank];
    int[] output = new int[rank];
    for (int i = 0; i < rank; i++) {
      node.require(
          kernel[i] > 0 && strides[i] > 0 && dilations[i] > 0, "a size of its window is 0");
      int size = input[i + 2];
      int extent = Math.addExact(Math.multiplyExact(kernel[i] - 1, dilations[i]), 1);
      switch (auto) {
        case "NOTSET", "" -> {
          before[i] = pads[i];
          after[i] = pads[i + rank];
        }
        case "VALID" -> {}
        case "SAME_UPPER", "SAME_LOWER" -> {
          int positions = (size + strides[i] - 1) / strides[i];
          int all = (positions - 1) * strides[i] + extent - size;
          // Below 0 where steps pass over more than the window takes in. ONNX Runtime's pooling
          // cuts that off at both ends then, as ONNX has it; its convolution does not.
          all = node.onnx().type().endsWith("Pool") ? all : Math.max(0, all);
          before[i] = (auto.equals("SAME_UPPER") ? all : all + 1) / 2;
          after[i] = all - before[i];
        }
        default -> throw node.refuse("its auto_pad is " + auto);
      }
      int room = size + before[i] + after[i] - extent;
      node.require(room >= 0, "its window is larger than its padded input");
      output[i] = room / strides[i] + 1;
      if (isCeil && room % strides[i] != 0 && output[i] * strides[i] < size + before[i]) {
        output[i]++;
      }
    }
    return new Frame(kernel, strides, dilations, before, after, output);
  }

  /** The padding behind that the last position reaches into; more than is stated at most. */
  int[] reached(int[] input) {
    int[] reached = new int[kernel.length];
    for (int i = 0; i < reached.length; i++) {
      int extent = (kernel[i] - 1) * dilations[i] + 1;
      reached[i] = (output[i] - 1) * strides[i] + extent - input[i + 2] - before[i];
    }
    return reached;
  }

  /** Returns whether NNAPI's pooling takes it. */
  boolean isPlain(int[] input) {
    int[] reached = reached(input);
    for (int i = 0; i < kernel.length; i++) {
      if (dilations[i] != 1 || before[i] < 0 || before[i] >= kernel[i] || reached[i] >= kernel[i]) {
        return false;
      }
    }
    return kernel.length <= 2;
  }

  /** The same way, along one dimension, over a value that has another one of size 1 before it. */
  Frame flat() {
    return new Frame(
        Dims.insert(kernel, 0, 1),
        Dims.insert(strides, 0, 1),
        Dims.insert(dilations, 0, 1),
        Dims.insert(before, 0, 0),
        Dims.insert(after, 0, 0),
        Dims.insert(output, 0, 1));
  }

  /** The same way, but for the first dimension. */
  Frame withoutFirst() {
    return new Frame(
        Dims.remove(kernel, 0),
        Dims.remove(strides, 0),
        Dims.remove(dilations, 0),
        Dims.remove(before, 0),
        Dims.remove(after, 0),
        Dims.remove(output, 0));
  }

  /**
   * All windows of a value.
   *
   * @param number what the padding holds
   * @return with the shape {@code [batch, channels, positions..., cells...]}
   */
  Value windows(Ops ops, Value value, double number) {
    Value padded = padded(ops, value, number);
    int[] own = Dims.strides(padded.shape());
    int[] channels = {own[0], own[1]};
    return ops.view(
        padded,
        Dims.join(new int[] {value.dim(0), value.dim(1)}, output, kernel),
        Dims.join(channels, steps(own, strides), steps(own, dilations)),
        0);
  }

  /** The value with the padding that windows reach into. */
  Value padded(Ops ops, Value value, double number) {
    int[] none = new int[2];
    return ops.pad(value, Dims.join(none, before), Dims.join(none, reached(value.shape())), number);
  }

  int[] steps(int[] own, int[] factors) {
    int[] steps = new int[factors.length];
    for (int i = 0; i < steps.length; i++) {
      steps[i] = own[i + 2] * factors[i];
    }
    return steps;
  }
}
