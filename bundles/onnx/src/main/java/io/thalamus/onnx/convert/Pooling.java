// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.Selection.Update;
import java.util.Arrays;

/** One result for each window: NNAPI's pooling where it is meant, else all windows reduced. */
final class Pooling {
  private static final int[] CHANNELS_LAST = {0, 2, 3, 1};
  private static final int[] CHANNELS_FIRST = {0, 3, 1, 2};

  private Pooling() {}

  static void addTo(Converters table) {
    table.add("MaxPool", Pooling::max);
    table.add("MaxUnpool", Pooling::unpool);
    table.add("AveragePool", Pooling::average);
    table.add("LpPool", Pooling::lp);
    table.add("GlobalAveragePool", node -> global(node, Reduction.MEAN));
    table.add("GlobalMaxPool", node -> global(node, Reduction.MAX));
    table.add("GlobalLpPool", Pooling::globalLp);
  }

  private static Frame frame(Node node) {
    int[] kernel = node.list("kernel_shape");
    node.require(kernel != null, "it has no kernel_shape");
    return Frame.of(node, node.in(0).shape(), kernel);
  }

  private static Value flatPooling(Ops ops, OperationCode code, Value value, Frame frame) {
    if (frame.kernel().length == 1) {
      Value image = ops.reshape(value, Dims.insert(value.shape(), 2, 1));
      Value result = flatPooling(ops, code, image, frame.flat());
      return ops.reshape(result, Dims.remove(result.shape(), 2));
    }
    int[] after = value.isOpen() ? frame.after() : frame.reached(value.shape());
    Value result =
        ops.emitSized(
            value.type(),
            new int[] {value.dim(0), frame.output()[0], frame.output()[1], value.dim(1)},
            code,
            ops.operand(ops.transpose(value, CHANNELS_LAST)),
            ops.int32(frame.before()[1]),
            ops.int32(Math.max(0, after[1])),
            ops.int32(frame.before()[0]),
            ops.int32(Math.max(0, after[0])),
            ops.int32(frame.strides()[1]),
            ops.int32(frame.strides()[0]),
            ops.int32(frame.kernel()[1]),
            ops.int32(frame.kernel()[0]),
            ops.int32(0));
    return ops.transpose(result, CHANNELS_FIRST);
  }

  /** Pooling over a side that only an execution tells, as far as it is NNAPI's. */
  private static Value openPooling(Node node, OperationCode code, Value value) {
    int[] kernel = node.list("kernel_shape");
    node.require(kernel != null, "it has no kernel_shape");
    Frame frame = Frame.open(node, value, kernel);
    boolean isPlain =
        value.type().isFloat()
            && Arrays.stream(frame.dilations()).allMatch(each -> each == 1)
            && !node.wants(1);
    for (int i = 0; i < kernel.length; i++) {
      int most = Math.max(frame.before()[i], frame.after()[i]);
      int least = Math.min(frame.before()[i], frame.after()[i]);
      boolean isCounted = node.flag("count_include_pad", false) && most > 0;
      isPlain = isPlain && least >= 0 && most < kernel[i] && !isCounted;
    }
    node.require(isPlain, value.text() + " has an open side beside such pads or results");
    return flatPooling(node.ops(), code, value, frame);
  }

  private static int[] cellAxes(Frame frame) {
    int rank = frame.kernel().length;
    return Arrays.stream(Dims.range(rank)).map(axis -> 2 + rank + axis).toArray();
  }

  private static Value reduced(Ops ops, Reduction kind, Value windows, Frame frame) {
    Value result = ops.reduce(kind, windows, cellAxes(frame));
    return ops.reshape(result, Arrays.copyOf(windows.shape(), 2 + frame.kernel().length));
  }

  private static void max(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    if (value.isOpen()) {
      node.out(openPooling(node, OperationCode.MAX_POOL_2D, value));
      return;
    }
    Frame frame = frame(node);
    if (frame.isPlain(value.shape()) && MoveOps.isPlain(value)) {
      node.out(flatPooling(ops, OperationCode.MAX_POOL_2D, value, frame));
    } else {
      Value windows = frame.windows(ops, value, least(value.type()));
      node.out(reduced(ops, Reduction.MAX, windows, frame));
    }
    if (node.wants(1)) {
      node.out(1, places(node, value, frame));
    }
  }

  private static double least(DataType type) {
    return type.elements().least();
  }

  /** The places of the largest elements in the flat input. */
  private static Value places(Node node, Value value, Frame frame) {
    Ops ops = node.ops();
    Value windows = frame.windows(ops, value, least(value.type()));
    int[] cells = cells(ops, value.shape(), frame, node.flag("storage_order", false));
    int positions = Dims.count(frame.output());
    int size = Dims.count(frame.kernel());
    Value rows = ops.reshape(windows, value.dim(0) * value.dim(1), positions, size);
    Value best = ops.cast(ops.place(rows, 2, true, false), DataType.INT32);
    int[] starts = ops.budget().ints(positions);
    Arrays.setAll(starts, i -> i * size);
    Value cell =
        ops.add(
            ops.reshape(best, rows.dim(0), positions),
            ops.integers(new int[] {1, positions}, starts));
    Value table = ops.integers(new int[] {cells.length}, cells);
    int[] planes = ops.budget().ints(rows.dim(0));
    int plane = Dims.count(value.shape(), 2, value.rank());
    Arrays.setAll(planes, i -> i * plane);
    Value place =
        ops.add(ops.gather(table, 0, cell), ops.integers(new int[] {planes.length, 1}, planes));
    int[] shape = Dims.join(new int[] {value.dim(0), value.dim(1)}, frame.output());
    return ops.cast(ops.reshape(place, shape), DataType.INT64);
  }

  /** For each cell of each position its place in a channel; 0 for those outside. */
  private static int[] cells(Ops ops, int[] shape, Frame frame, boolean isColumnMajor) {
    int rank = frame.kernel().length;
    int[] sizes = Arrays.copyOfRange(shape, 2, shape.length);
    int[] strides = Dims.strides(sizes);
    if (isColumnMajor) {
      for (int i = 0, stride = 1; i < rank; i++) {
        strides[i] = stride;
        stride *= sizes[i];
      }
    }
    int[] positionStrides = Dims.strides(frame.output());
    int[] cellStrides = Dims.strides(frame.kernel());
    int size = Dims.count(frame.kernel());
    int[] cells = ops.budget().ints(Math.multiplyExact(Dims.count(frame.output()), size));
    for (int i = 0; i < cells.length; i++) {
      int place = 0;
      for (int d = 0; d < rank; d++) {
        int position = i / size / positionStrides[d] % frame.output()[d];
        int cell = i % size / cellStrides[d] % frame.kernel()[d];
        int at = position * frame.strides()[d] + cell * frame.dilations()[d] - frame.before()[d];
        place += Math.clamp(at, 0, sizes[d] - 1) * strides[d];
      }
      cells[i] = place;
    }
    return cells;
  }

  /**
   * Elements at the places that MaxPool found, in the flat result that the windows cover; a stated
   * shape has more zeros behind it, as in ONNX's own evaluator.
   */
  private static void unpool(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int[] kernel = node.list("kernel_shape");
    node.require(
        kernel != null && value.rank() == kernel.length + 2, "its window does not fit its input");
    int axes = kernel.length;
    int[] strides = node.list("strides", axes, 1);
    int[] pads = node.list("pads", 2 * axes, 0);
    int[] shape = value.shape().clone();
    for (int i = 0; i < axes; i++) {
      long size = (shape[i + 2] - 1L) * strides[i] + kernel[i] - pads[i] - pads[i + axes];
      node.require(size > 0 && size <= Integer.MAX_VALUE, "its result has no elements");
      shape[i + 2] = (int) size;
    }
    Value zeros = ops.fill(value.type(), shape, 0);
    Value places = ops.cast(node.in(1), DataType.INT32);
    Value result = Scatter.flat(node, zeros, places, value, Update.REPLACE);
    if (node.has(2)) {
      int[] stated = node.isKnown(2) ? node.ints(2) : node.stated(0, 2);
      int[] behind = new int[stated.length];
      for (int i = 0; i < stated.length; i++) {
        node.require(
            stated.length == shape.length && stated[i] >= shape[i],
            Dims.text(stated) + " has no room for " + Dims.text(shape));
        behind[i] = stated[i] - shape[i];
      }
      result = ops.pad(result, new int[stated.length], behind, 0);
    }
    node.out(result);
  }

  private static void average(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    if (value.isOpen()) {
      node.out(openPooling(node, OperationCode.AVERAGE_POOL_2D, value));
      return;
    }
    Frame frame = frame(node);
    boolean isAll = node.flag("count_include_pad", false);
    boolean isUnpadded =
        Arrays.stream(frame.before()).allMatch(size -> size == 0)
            && Arrays.stream(frame.after()).allMatch(size -> size == 0);
    if (frame.isPlain(value.shape()) && value.type().isFloat() && (!isAll || isUnpadded)) {
      means(node, value, flatPooling(ops, OperationCode.AVERAGE_POOL_2D, value, frame));
      return;
    }
    Value sums = reduced(ops, Reduction.SUM, frame.windows(ops, value, 0), frame);
    means(node, value, ops.div(sums, counts(ops, value, frame, isAll)));
  }

  private static void means(Node node, Value value, Value means) {
    boolean isOfBytes = value.origin() == Value.Origin.BYTES;
    node.out(isOfBytes ? means.from(Value.Origin.MEANS_OF_BYTES) : means);
  }

  /** For each position how many cells count. */
  private static Value counts(Ops ops, Value value, Frame frame, boolean isAll) {
    int rank = frame.kernel().length;
    Value counts = ops.number(value.type(), 1);
    for (int d = 0; d < rank; d++) {
      double[] along = ops.budget().doubles(frame.output()[d]);
      int from = isAll ? 0 : frame.before()[d];
      int to = value.dim(d + 2) + frame.before()[d] + (isAll ? frame.after()[d] : 0);
      for (int i = 0; i < along.length; i++) {
        for (int cell = 0; cell < frame.kernel()[d]; cell++) {
          int at = i * frame.strides()[d] + cell * frame.dilations()[d];
          along[i] += at >= from && at < to ? 1 : 0;
        }
      }
      int[] shape = Dims.along(rank, d, along.length);
      counts = ops.mul(counts, ops.constant(value.type(), shape, along));
    }
    return counts;
  }

  private static Value power(Ops ops, Value value, double exponent) {
    if (exponent == 2) {
      return ops.square(value);
    }
    return exponent == 1
        ? value
        : ops.binary(Binary.POW, value, ops.number(value.type(), exponent));
  }

  private static void lp(Node node) {
    Ops ops = node.ops();
    Frame frame = frame(node);
    int p = node.setting("p", 2);
    Value sizes = power(ops, ops.unary(Unary.ABS, node.in(0)), p);
    Value sums = reduced(ops, Reduction.SUM, frame.windows(ops, sizes, 0), frame);
    node.out(power(ops, sums, 1.0 / p));
  }

  /** The axes of an image without those of its number and channels. */
  static int[] spatial(Value value) {
    return Arrays.copyOfRange(Dims.range(value.rank()), Math.min(2, value.rank()), value.rank());
  }

  private static void global(Node node, Reduction kind) {
    Value value = node.openIn(0);
    node.out(node.ops().reduce(kind, value, spatial(value)));
  }

  private static void globalLp(Node node) {
    Ops ops = node.ops();
    int p = node.setting("p", 2);
    Value sizes = power(ops, ops.unary(Unary.ABS, node.in(0)), p);
    node.out(power(ops, ops.reduce(Reduction.SUM, sizes, spatial(sizes)), 1.0 / p));
  }
}
