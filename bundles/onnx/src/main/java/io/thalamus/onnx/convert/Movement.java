// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Operators that move elements to places that are known beforehand. */
final class Movement {
  private Movement() {}

  static void addTo(Converters table) {
    table.add("Transpose", Movement::transpose);
    table.add("Concat", Movement::concat);
    table.add("Split", Movement::split);
    table.add("Slice", Movement::slice);
    table.add("Pad", Movement::pad);
    table.add("Tile", Movement::tile);
    table.add("Expand", Movement::expand);
    table.add("DepthToSpace", Movement::depthToSpace);
    table.add("SpaceToDepth", Movement::spaceToDepth);
    table.add("Trilu", Movement::trilu);
    table.add("CenterCropPad", Movement::centerCropPad);
  }

  private static void transpose(Node node) {
    Value value = node.openIn(0);
    int[] order = node.list("perm");
    if (order == null) {
      order = Dims.range(value.rank());
      for (int i = 0; i < order.length; i++) {
        order[i] = value.rank() - 1 - i;
      }
    }
    node.require(
        Arrays.equals(Arrays.stream(order).sorted().toArray(), Dims.range(value.rank())),
        "its perm " + Arrays.toString(order) + " does not order " + value.rank() + " dimensions");
    node.out(node.ops().transpose(value, order));
  }

  private static void concat(Node node) {
    List<Value> values = IntStream.range(0, node.inputs()).mapToObj(node::openIn).toList();
    node.require(!values.isEmpty(), "it has no inputs");
    int axis = node.axis(node.setting("axis", 1), values.getFirst().rank());
    node.out(node.ops().concat(values, axis));
  }

  private static void split(Node node) {
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", 0), value.rank());
    int[] sizes = splitSizes(node, value.dim(axis), axis);
    boolean isOpen = value.isOpen() && value.dim(axis) == 0;
    node.require(
        !isOpen || Arrays.stream(sizes).allMatch(size -> size > 0),
        "it splits along an axis of which only an execution tells the size");
    node.require(
        sizes.length == node.outputs() && (isOpen || Arrays.stream(sizes).sum() == value.dim(axis)),
        "the parts " + Arrays.toString(sizes) + " do not make up " + value.dim(axis));
    int start = 0;
    for (int i = 0; i < sizes.length; i++) {
      node.require(sizes[i] >= 0, "a part is negative");
      if (node.wants(i)) {
        node.out(i, node.ops().part(value, axis, start, sizes[i]));
      }
      start += sizes[i];
    }
  }

  private static int[] splitSizes(Node node, int size, int axis) {
    if (node.isKnown(1)) {
      return node.ints(1);
    }
    int count = node.outputs();
    int[] sizes = new int[count];
    if (node.has(1)) {
      for (int i = 0; i < count; i++) {
        sizes[i] = node.stated(i, 1)[axis];
      }
      return sizes;
    }
    if (node.hasSetting("split")) {
      return node.list("split");
    }
    int each = (size + count - 1) / count;
    for (int i = 0; i < count; i++) {
      sizes[i] = Math.max(0, Math.min(each, size - i * each));
    }
    return sizes;
  }

  private static void slice(Node node) {
    Value value = node.in(0);
    if (node.opset() >= 10) {
      for (int i = 1; i < 5; i++) {
        if (node.has(i) && !node.isKnown(i)) {
          Computed.slice(node);
          return;
        }
      }
    }
    boolean isOld = node.opset() < 10;
    int[] starts = isOld ? node.list("starts") : node.ints(1);
    int[] ends = isOld ? node.list("ends") : node.ints(2);
    node.require(starts != null && ends != null, "it does not say from where to where");
    int[] given = isOld ? node.list("axes") : node.has(3) ? node.ints(3) : null;
    int[] axes = node.axes(given == null ? Dims.range(starts.length) : given, value.rank());
    int[] steps = node.has(4) ? node.ints(4) : null;
    node.require(
        ends.length == starts.length
            && axes.length == starts.length
            && (steps == null || steps.length == starts.length),
        "its starts, ends, axes and steps are of different number");
    int[] from = new int[value.rank()];
    int[] by = new int[value.rank()];
    Arrays.fill(by, 1);
    int[] sizes = value.shape().clone();
    for (int i = 0; i < axes.length; i++) {
      int axis = axes[i];
      int step = steps == null ? 1 : steps[i];
      node.require(step != 0, "a step is 0");
      by[axis] = step;
      from[axis] = first(starts[i], sizes[axis], step);
      sizes[axis] = length(from[axis], ends[i], sizes[axis], step);
    }
    node.out(node.ops().slice(value, from, by, sizes));
  }

  static int first(int start, int size, int step) {
    long counted = start < 0 ? start + (long) size : start;
    return (int) Math.clamp(counted, 0L, step > 0 ? size : Math.max(0, size - 1));
  }

  static int length(int first, int stated, int size, int step) {
    // The largest number is the end on either way, as ONNX Runtime has it.
    int end = step < 0 && stated == Integer.MAX_VALUE ? Integer.MIN_VALUE : stated;
    long counted = end < 0 ? end + (long) size : end;
    if (step > 0) {
      long last = Math.clamp(counted, 0L, size);
      return (int) Math.max(0, (last - first + step - 1) / step);
    }
    long last = Math.clamp(counted, -1L, Math.max(0, size - 1));
    return size == 0 ? 0 : (int) Math.max(0, (first - last - step - 1L) / -(long) step);
  }

  private static void pad(Node node) {
    Value value = node.in(0);
    boolean isOld = node.opset() < 11;
    if (!isOld && (!node.isKnown(1) || node.has(3) && !node.isKnown(3))) {
      Computed.pad(node);
      return;
    }
    int[] given = isOld ? node.list(node.opset() < 2 ? "paddings" : "pads") : node.ints(1);
    int[] axes = node.has(3) ? node.axes(node.ints(3), value.rank()) : Dims.range(value.rank());
    node.require(given != null && given.length == 2 * axes.length, "its pads do not fit its axes");
    int[] before = new int[value.rank()];
    int[] after = new int[value.rank()];
    for (int i = 0; i < axes.length; i++) {
      before[axes[i]] = given[i];
      after[axes[i]] = given[i + axes.length];
    }
    String mode = node.text("mode", "constant");
    if (mode.equals("constant")) {
      if (node.has(2) && !node.isKnown(2)) {
        Computed.pad(node);
        return;
      }
      double number = isOld ? node.real("value", 0) : node.has(2) ? node.onlyNumber(2) : 0;
      node.out(node.ops().pad(value, before, after, number));
      return;
    }
    Value padded = value;
    for (int axis = 0; axis < value.rank(); axis++) {
      if (before[axis] != 0 || after[axis] != 0) {
        padded = mirror(node, padded, axis, mode, before[axis], after[axis]);
      }
    }
    node.out(padded);
  }

  private static Value mirror(
      Node node, Value value, int axis, String mode, int before, int after) {
    int size = value.dim(axis);
    int[] places = node.ops().budget().ints(Math.max(0, before + size + after));
    for (int i = 0; i < places.length; i++) {
      places[i] = source(node, i - before, size, mode);
    }
    return node.ops().gather(value, axis, node.ops().integers(new int[] {places.length}, places));
  }

  private static int source(Node node, int place, int size, String mode) {
    return switch (mode) {
      case "edge" -> Math.clamp(place, 0, size - 1);
      case "wrap" -> Math.floorMod(place, size);
      case "reflect" -> {
        int period = Math.max(1, 2 * (size - 1));
        int folded = Math.floorMod(place, period);
        yield Math.min(folded, period - folded) % size;
      }
      default -> throw node.refuse("its mode is " + mode);
    };
  }

  private static void tile(Node node) {
    Value value = node.in(0);
    int[] repeats = new int[value.rank()];
    if (node.opset() >= 6 && !node.isKnown(1)) {
      int[] shape = node.stated(0, 1);
      for (int i = 0; i < repeats.length; i++) {
        repeats[i] = shape[i] / value.dim(i);
      }
    } else {
      repeats = node.ints(1);
    }
    node.require(
        repeats.length == value.rank(), "it repeats another number of dimensions than there are");
    int[] apart = new int[2 * repeats.length];
    int[] full = new int[2 * repeats.length];
    int[] shape = new int[repeats.length];
    for (int i = 0; i < repeats.length; i++) {
      node.require(repeats[i] >= 0, "it repeats elements " + repeats[i] + " times");
      apart[2 * i] = 1;
      apart[2 * i + 1] = value.dim(i);
      full[2 * i] = repeats[i];
      full[2 * i + 1] = value.dim(i);
      shape[i] = Math.multiplyExact(repeats[i], value.dim(i));
    }
    Ops ops = node.ops();
    node.out(ops.reshape(ops.expand(ops.reshape(value, apart), full), shape));
  }

  private static void expand(Node node) {
    Value value = node.in(0);
    int[] shape = node.isKnown(1) ? node.ints(1) : node.stated(0, 1);
    int[] both = Dims.broadcast(value.shape(), shape);
    node.require(both != null, value.text() + " does not broadcast to " + Dims.text(shape));
    node.out(node.ops().expand(value, both));
  }

  private static void depthToSpace(Node node) {
    Value value = node.in(0);
    int block = node.setting("blocksize", 0);
    node.require(value.rank() == 4 && block > 0, "it has no block size or not 4 dimensions");
    int depth = value.dim(1) / (block * block);
    boolean isDepthFirst = node.text("mode", "DCR").equals("DCR");
    Ops ops = node.ops();
    int[] shape =
        isDepthFirst
            ? new int[] {value.dim(0), block, block, depth, value.dim(2), value.dim(3)}
            : new int[] {value.dim(0), depth, block, block, value.dim(2), value.dim(3)};
    int[] order = isDepthFirst ? new int[] {0, 3, 4, 1, 5, 2} : new int[] {0, 1, 4, 2, 5, 3};
    Value moved = ops.transpose(ops.reshape(value, shape), order);
    node.out(ops.reshape(moved, value.dim(0), depth, value.dim(2) * block, value.dim(3) * block));
  }

  private static void spaceToDepth(Node node) {
    Value value = node.in(0);
    int block = node.setting("blocksize", 0);
    node.require(value.rank() == 4 && block > 0, "it has no block size or not 4 dimensions");
    int height = value.dim(2) / block;
    int width = value.dim(3) / block;
    Ops ops = node.ops();
    Value apart = ops.reshape(value, value.dim(0), value.dim(1), height, block, width, block);
    Value moved = ops.transpose(apart, 0, 3, 5, 1, 2, 4);
    node.out(ops.reshape(moved, value.dim(0), value.dim(1) * block * block, height, width));
  }

  private static void trilu(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    node.require(value.rank() >= 2, "its input is no matrix");
    if (value.count() == 0) {
      node.out(value);
      return;
    }
    int rows = value.dim(value.rank() - 2);
    int columns = value.dim(value.rank() - 1);
    Value row = ops.integers(new int[] {rows, 1}, ops.budget().range(rows));
    Value column = ops.integers(new int[] {1, columns}, ops.budget().range(columns));
    Value shift =
        node.has(1)
            ? ops.cast(ops.reshape(node.in(1)), DataType.INT32)
            : ops.number(DataType.INT32, 0);
    Value border = ops.add(row, shift);
    Value isKept =
        ops.binary(
            node.flag("upper", true) ? Binary.GREATER_EQUAL : Binary.LESS_EQUAL, column, border);
    node.out(ops.select(isKept, value, ops.number(value.type(), 0)));
  }

  private static void centerCropPad(Node node) {
    Value value = node.in(0);
    int[] given = node.list("axes");
    int[] axes = given == null ? Dims.range(value.rank()) : node.axes(given, value.rank());
    int[] wanted = node.isKnown(1) ? node.ints(1) : Dims.permute(node.stated(0, 1), axes);
    node.require(wanted.length == axes.length, "its shape does not fit its axes");
    int[] before = new int[value.rank()];
    int[] after = new int[value.rank()];
    for (int i = 0; i < axes.length; i++) {
      int more = wanted[i] - value.dim(axes[i]);
      before[axes[i]] = more >= 0 ? more / 2 : -((-more) / 2);
      after[axes[i]] = more - before[axes[i]];
    }
    node.out(node.ops().pad(value, before, after, 0));
  }
}
