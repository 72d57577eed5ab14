// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Convolutions: NNAPI's on two dimensions with channels last, which all devices are made for;
 * others as a product of all windows with the weights.
 */
final class Convolution {
  static final int[] CHANNELS_LAST = {0, 2, 3, 1};
  static final int[] CHANNELS_FIRST = {0, 3, 1, 2};
  private static final int[] DEEP_LAST = {0, 2, 3, 4, 1};
  private static final int[] DEEP_FIRST = {0, 4, 1, 2, 3};

  private Convolution() {}

  static void addTo(Converters table) {
    table.add("Conv", Convolution::convolution);
    table.add("DeformConv", DeformableConvolution::convert);
    table.add("ConvTranspose", node -> transposed(node, false));
    table.add(Fused.DOMAIN + "ConvTransposeWithDynamicPads", node -> transposed(node, true));
    table.add("ConvInteger", Convolution::integer);
  }

  private static Frame frame(Node node, Value value, Value weights) {
    node.require(
        weights.rank() > 2 && value.rank() == weights.rank(),
        "it has the inputs " + value.text() + " and " + weights.text());
    return Frame.of(node, value.shape(), Arrays.copyOfRange(weights.shape(), 2, weights.rank()));
  }

  /** The window over images one of whose sides only an execution tells. */
  private static Frame openFrame(Node node, Value value, Value weights) {
    node.require(
        weights.rank() == value.rank() && value.type().isFloat() && weights.type() == value.type(),
        value.text() + " with an open side does not fit " + weights.text());
    Frame frame = Frame.open(node, value, Arrays.copyOfRange(weights.shape(), 2, weights.rank()));
    node.require(
        areNatural(frame.before()) && areNatural(frame.after()), "its pads are less than 0");
    return frame;
  }

  private static void convolution(Node node) {
    Value value = node.openIn(0);
    Value weights = node.in(1);
    Frame frame =
        value.isOpenInside() ? openFrame(node, value, weights) : frame(node, value, weights);
    Value bias = node.inOrNull(2);
    node.out(convolve(node.ops(), value, weights, bias, frame, node.setting("group", 1)));
  }

  private static boolean areNatural(int... sizes) {
    for (int size : sizes) {
      if (size < 0) {
        return false;
      }
    }
    return true;
  }

  /** The convolution of a value with weights and, where it is not null, a bias. */
  static Value convolve(Ops ops, Value value, Value weights, Value bias, Frame frame, int groups) {
    if (groups <= 0
        || weights.dim(0) % groups != 0
        || value.dim(1) != (long) groups * weights.dim(1)) {
      throw Emitter.refuse(
          "%s groups of %s do not fit %s".formatted(groups, weights.text(), value.text()));
    }
    Emitter.require(
        bias == null || bias.rank() == 1 && bias.dim(0) == weights.dim(0),
        "its bias does not fit its weights");
    boolean isPadded = areNatural(frame.before()) && areNatural(frame.after());
    boolean isReal = value.type().isFloat() && weights.type() == value.type();
    if (isReal && isPadded && frame.kernel().length == 2) {
      return flatConvolution(ops, value, weights, bias, frame, groups);
    }
    if (isReal && isPadded && frame.kernel().length == 1) {
      Value result =
          flatConvolution(
              ops,
              ops.reshape(value, Dims.insert(value.shape(), 2, 1)),
              ops.reshape(weights, Dims.insert(weights.shape(), 2, 1)),
              bias,
              frame.flat(),
              groups);
      return ops.reshape(result, Dims.remove(result.shape(), 2));
    }
    if (isReal && isPadded && frame.kernel().length == 3 && groups == 1 && !value.isOpen()) {
      return bySlices(ops, value, weights, bias, frame);
    }
    return byProduct(ops, value, weights, bias, frame, groups);
  }

  /**
   * A convolution in space: each slice of the result is a flat convolution of those slices that its
   * windows reach, which are its channels. All windows side by side would be as many times larger
   * as a window has cells.
   */
  private static Value bySlices(Ops ops, Value value, Value weights, Value bias, Frame frame) {
    int[] before = {0, frame.before()[0], 0, 0, 0};
    int[] after = {0, frame.after()[0], 0, 0, 0};
    Value slices = ops.pad(ops.transpose(value, DEEP_LAST), before, after, 0);
    int depth = frame.kernel()[0];
    int positions = frame.output()[0];
    int[] steps = {1, frame.strides()[0], 1, 1, 1};
    int[] sizes = slices.shape().clone();
    sizes[1] = positions;
    List<Value> reached = new ArrayList<>();
    for (int i = 0; i < depth; i++) {
      int[] starts = {0, i * frame.dilations()[0], 0, 0, 0};
      reached.add(ops.slice(slices, starts, steps, sizes));
    }
    Value channels = ops.concat(reached, DEEP_LAST.length - 1);
    int[] shape = channels.shape();
    Value images = ops.reshape(channels, shape[0] * shape[1], shape[2], shape[3], shape[4]);
    int[] kernel = weights.shape();
    Value filter =
        ops.reshape(
            ops.transpose(weights, 0, 2, 1, 3, 4),
            kernel[0],
            depth * kernel[1],
            kernel[3],
            kernel[4]);
    Value flat =
        flatConvolution(
            ops, ops.transpose(images, CHANNELS_FIRST), filter, bias, frame.withoutFirst(), 1);
    Value last = ops.transpose(flat, CHANNELS_LAST);
    Value result = ops.reshape(last, shape[0], positions, last.dim(1), last.dim(2), last.dim(3));
    return ops.transpose(result, DEEP_FIRST);
  }

  private static Value flatConvolution(
      Ops ops, Value value, Value weights, Value bias, Frame frame, int groups) {
    int units = weights.dim(0);
    boolean isDepthwise = groups > 1 && groups == value.dim(1);
    boolean isDilated = frame.dilations()[0] != 1 || frame.dilations()[1] != 1;
    if (groups > 1 && !isDepthwise && isDilated) {
      return byGroups(ops, value, weights, bias, frame, groups);
    }
    Value data = ops.transpose(value, CHANNELS_LAST);
    Value filter =
        isDepthwise ? ops.transpose(weights, 1, 2, 3, 0) : ops.transpose(weights, CHANNELS_LAST);
    Value added = bias == null ? ops.fill(value.type(), new int[] {units}, 0) : bias;
    List<Integer> inputs =
        new ArrayList<>(
            List.of(
                ops.operand(data),
                ops.operand(filter),
                ops.operand(added),
                ops.int32(frame.before()[1]),
                ops.int32(frame.after()[1]),
                ops.int32(frame.before()[0]),
                ops.int32(frame.after()[0]),
                ops.int32(frame.strides()[1]),
                ops.int32(frame.strides()[0])));
    OperationCode code = OperationCode.CONV_2D;
    if (isDepthwise) {
      code = OperationCode.DEPTHWISE_CONV_2D;
      inputs.add(ops.int32(units / groups));
    } else if (groups > 1) {
      code = OperationCode.GROUPED_CONV_2D;
      inputs.add(ops.int32(groups));
    }
    inputs.add(ops.int32(0));
    if (isDilated || code == OperationCode.GROUPED_CONV_2D) {
      inputs.add(ops.bool(false));
    }
    if (isDilated) {
      inputs.add(ops.int32(frame.dilations()[1]));
      inputs.add(ops.int32(frame.dilations()[0]));
    }
    int[] shape = {value.dim(0), frame.output()[0], frame.output()[1], units};
    Value result = ops.emitSized(value.type(), shape, code, inputs.toArray(Integer[]::new));
    return ops.transpose(result, CHANNELS_FIRST);
  }

  private static Value byGroups(
      Ops ops, Value value, Value weights, Value bias, Frame frame, int groups) {
    int units = weights.dim(0) / groups;
    List<Value> parts = new ArrayList<>();
    for (int i = 0; i < groups; i++) {
      parts.add(
          flatConvolution(
              ops,
              ops.part(value, 1, i * weights.dim(1), weights.dim(1)),
              ops.part(weights, 0, i * units, units),
              bias == null ? null : ops.part(bias, 0, i * units, units),
              frame,
              1));
    }
    return ops.concat(parts, 1);
  }

  /** {@code [batch, group, positions, cells] * [1, group, units, cells]}, transposed. */
  private static Value byProduct(
      Ops ops, Value value, Value weights, Value bias, Frame frame, int groups) {
    Value padded = frame.padded(ops, value, 0);
    int[] own = Dims.strides(padded.shape());
    int depth = weights.dim(1);
    int units = weights.dim(0) / groups;
    int positions = Dims.count(frame.output());
    int cells = depth * Dims.count(frame.kernel());
    Value windows =
        ops.view(
            padded,
            Dims.join(
                new int[] {value.dim(0), groups},
                frame.output(),
                new int[] {depth},
                frame.kernel()),
            Dims.join(
                new int[] {own[0], own[1] * depth},
                frame.steps(own, frame.strides()),
                new int[] {own[1]},
                frame.steps(own, frame.dilations())),
            0);
    Value rows = ops.reshape(windows, value.dim(0), groups, positions, cells);
    Value factors = ops.reshape(weights, 1, groups, units, cells);
    Value product = ops.transpose(ops.multiply(rows, factors, true), 0, 1, 3, 2);
    int[] shape = Dims.join(new int[] {value.dim(0), weights.dim(0)}, frame.output());
    Value result = ops.reshape(product, shape);
    return bias == null
        ? result
        : ops.add(result, Normalization.perChannel(ops, bias, shape.length));
  }

  /** A convolution of the value with zeros between its elements, by the weights turned around. */
  private static void transposed(Node node, boolean isPadInput) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    Value weights = node.in(1);
    int groups = node.setting("group", 1);
    int rank = value.rank() - 2;
    node.require(
        rank > 0
            && weights.rank() == value.rank()
            && groups > 0
            && value.dim(1) % groups == 0
            && weights.dim(0) == value.dim(1),
        "it has the inputs " + value.text() + " and " + weights.text());
    int[] kernel = Arrays.copyOfRange(weights.shape(), 2, weights.rank());
    int[] strides = node.list("strides", rank, 1);
    int[] dilations = node.list("dilations", rank, 1);
    int[] extra = node.list("output_padding", rank, 0);
    int[] stated = isPadInput && node.has(2) ? node.ints(2) : node.list("pads", 2 * rank, 0);
    node.require(stated.length == 2 * rank, "its pads are " + stated.length);
    Value bias = node.inOrNull(isPadInput ? 3 : 2);
    if (value.isOpenInside()) {
      node.out(openInside(node, value, weights, bias, strides, dilations, extra, stated));
      return;
    }
    int[] pads = transposedPads(node, value, kernel, strides, dilations, extra, stated);
    int[] ones = Dims.ones(rank);
    int[] before = new int[rank];
    int[] after = new int[rank];
    int[] output = new int[rank];
    for (int i = 0; i < rank; i++) {
      int extent = (kernel[i] - 1) * dilations[i];
      before[i] = extent - pads[i];
      after[i] = extent - pads[i + rank] + extra[i];
      int size = (value.dim(i + 2) - 1) * strides[i] + 1;
      output[i] = size + before[i] + after[i] - extent;
      node.require(output[i] > 0, "its result has no elements");
    }
    if (groups == 1 && Arrays.equals(dilations, ones) && !Arrays.equals(strides, ones)) {
      Optional<Value> result =
          TransposedConvolution.of(ops, value, weights, bias, strides, pads, output);
      if (result.isPresent()) {
        node.out(result.get());
        return;
      }
    }
    if (value.isOpen() && !Arrays.equals(strides, ones)) {
      node.require(
          rank == 2 && groups == 1 && Arrays.equals(dilations, ones),
          value.text() + " has an open size beside groups or holes");
      int[] cut = new int[rank];
      for (int i = 0; i < rank; i++) {
        cut[i] = strides[i] * (value.dim(2 + i) - 1) + kernel[i] - pads[i] - output[i];
      }
      node.out(open(ops, value, weights, bias, strides, pads, cut, output));
      return;
    }
    Value spread = value;
    for (int i = 0; i < rank; i++) {
      spread = spread(ops, spread, i + 2, strides[i]);
    }
    Frame frame = new Frame(kernel, ones, dilations, before, after, output);
    node.out(convolve(ops, spread, turned(ops, weights, groups), bias, frame, groups));
  }

  /**
   * A transposed convolution of images one of whose sides only an execution tells.
   *
   * @param extra what is added behind
   */
  private static Value openInside(
      Node node,
      Value value,
      Value weights,
      Value bias,
      int[] strides,
      int[] dilations,
      int[] extra,
      int... pads) {
    Ops ops = node.ops();
    int rank = value.rank() - 2;
    int[] after = new int[rank];
    int[] output = new int[rank];
    for (int i = 0; i < rank; i++) {
      after[i] = pads[i + rank] - extra[i];
      int size = strides[i] * (value.dim(i + 2) - 1) + weights.dim(i + 2) - pads[i] - after[i];
      output[i] = value.dim(i + 2) == 0 ? 0 : size;
      node.require(pads[i] >= 0 && output[i] >= 0, "it has the pads " + pads[i] + ", " + after[i]);
    }
    node.require(
        rank <= 2
            && value.dim(0) > 0
            && value.dim(1) > 0
            && node.setting("group", 1) == 1
            && Arrays.equals(dilations, Dims.ones(rank))
            && !node.hasSetting("output_shape")
            && !node.text("auto_pad", "NOTSET").startsWith("SAME"),
        value.text() + " has an open side beside groups, holes or a size that is asked for");
    if (rank == 2) {
      return open(ops, value, weights, bias, strides, pads, after, output);
    }
    Value result =
        open(
            ops,
            ops.reshape(value, Dims.insert(value.shape(), 2, 1)),
            ops.reshape(weights, Dims.insert(weights.shape(), 2, 1)),
            bias,
            new int[] {1, strides[0]},
            new int[] {0, pads[0]},
            new int[] {0, after[0]},
            1,
            output[0]);
    return ops.reshape(result, Dims.remove(result.shape(), 2));
  }

  /** By the operation of NNAPI that fewer devices have. */
  private static Value open(
      Ops ops,
      Value value,
      Value weights,
      Value bias,
      int[] strides,
      int[] before,
      int[] after,
      int... output) {
    for (int pad : after) {
      Emitter.require(pad >= 0, value.text() + " has an open size beside padded results");
    }
    int units = weights.dim(1);
    Value added = bias == null ? ops.fill(value.type(), new int[] {units}, 0) : bias;
    Value result =
        ops.emitSized(
            value.type(),
            new int[] {value.dim(0), output[0], output[1], units},
            OperationCode.TRANSPOSE_CONV_2D,
            ops.operand(ops.transpose(value, CHANNELS_LAST)),
            ops.operand(ops.transpose(weights, 1, 2, 3, 0)),
            ops.operand(added),
            ops.int32(before[1]),
            ops.int32(after[1]),
            ops.int32(before[0]),
            ops.int32(after[0]),
            ops.int32(strides[1]),
            ops.int32(strides[0]),
            ops.int32(0),
            ops.bool(false));
    return ops.transpose(result, CHANNELS_FIRST);
  }

  private static int[] transposedPads(
      Node node,
      Value value,
      int[] kernel,
      int[] strides,
      int[] dilations,
      int[] extra,
      int[] pads) {
    int rank = kernel.length;
    int[] wanted = node.list("output_shape");
    String auto = node.text("auto_pad", "NOTSET");
    boolean isSame = auto.startsWith("SAME");
    if (wanted == null && !isSame) {
      return pads;
    }
    for (int i = 0; i < rank; i++) {
      int size = value.dim(i + 2);
      int target = wanted == null ? size * strides[i] : wanted[wanted.length - rank + i];
      int all = strides[i] * (size - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - target;
      if (all < 0) {
        pads[i] = 0;
        pads[i + rank] = all;
        continue;
      }
      boolean isUpper = auto.equals("SAME_UPPER");
      pads[i] = isUpper ? all / 2 : all - all / 2;
      pads[i + rank] = all - pads[i];
    }
    return pads;
  }

  private static Value spread(Ops ops, Value value, int axis, int stride) {
    if (stride == 1 || value.dim(axis) == 1) {
      return value;
    }
    int[] apart = Dims.insert(value.shape(), axis + 1, 1);
    int[] none = new int[apart.length];
    Value zeros =
        ops.pad(ops.reshape(value, apart), none, Dims.with(none, axis + 1, stride - 1), 0);
    int size = value.dim(axis);
    Value joined = ops.reshape(zeros, Dims.with(value.shape(), axis, size * stride));
    return ops.part(joined, axis, 0, (size - 1) * stride + 1);
  }

  private static Value turned(Ops ops, Value weights, int groups) {
    int depth = weights.dim(0) / groups;
    int units = weights.dim(1);
    int[] kernel = Arrays.copyOfRange(weights.shape(), 2, weights.rank());
    Value apart = ops.reshape(weights, Dims.join(new int[] {groups, depth, units}, kernel));
    int[] order = Dims.range(apart.rank());
    order[1] = 2;
    order[2] = 1;
    Value turned =
        ops.reshape(
            ops.transpose(apart, order), Dims.join(new int[] {groups * units, depth}, kernel));
    for (int axis = 2; axis < weights.rank(); axis++) {
      turned = turned.dim(axis) == 1 ? turned : ops.reverse(turned, axis);
    }
    return turned;
  }

  private static void integer(Node node) {
    Value weights = node.in(1);
    long depth = weights.dim(0) == 0 ? 0 : weights.count() / weights.dim(0);
    node.out(
        Matrices.sums(
            integer(node, DataType.FLOAT), depth, node.ops(), () -> integer(node, DataType.INT32)));
  }

  /** The sums of products of 8-bit integers, computed in a type. */
  private static Value integer(Node node, DataType type) {
    Ops ops = node.ops();
    Value value = node.in(0);
    Value weights = node.in(1);
    Frame frame = frame(node, value, weights);
    value =
        node.has(2) ? ops.difference(value, ops.reshape(node.in(2)), type) : ops.cast(value, type);
    if (node.has(3)) {
      int[] shape = Dims.along(weights.rank(), 0, node.in(3).count());
      weights = ops.difference(weights, ops.reshape(node.in(3), shape), type);
    } else {
      weights = ops.cast(weights, type);
    }
    return convolve(ops, value, weights, null, frame, node.setting("group", 1));
  }
}
