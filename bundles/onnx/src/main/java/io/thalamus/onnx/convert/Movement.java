// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** Operators that move elements, to places that are known beforehand or that an execution tells. */
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
    Ops ops = node.ops();
    Value value = node.openIn(0);
    boolean isOld = node.opset() < 10;
    boolean isOpen = value.isOpen() || !isOld && (node.isTold(1) || node.isTold(2));
    for (int i = 1; i < 5 && !isOld && !isOpen; i++) {
      if (node.has(i) && !node.isKnown(i)) {
        Computed.slice(node);
        return;
      }
    }
    int most = isOpen ? SliceBounds.MOST : Integer.MAX_VALUE;
    Value starts = limits(node, 1, "starts", most);
    Value ends = limits(node, 2, "ends", most);
    int count = starts.dim(0);
    int[] given = isOld ? node.list("axes") : node.has(3) ? node.ints(3) : null;
    int[] axes = node.axes(given == null ? Dims.range(count) : given, value.rank());
    int[] steps = node.has(4) ? node.ints(4) : null;
    node.require(
        ends.dim(0) == count && axes.length == count && (steps == null || steps.length == count),
        "its starts, ends, axes and steps are of different number");
    int[] from = new int[value.rank()];
    int[] by = Dims.ones(value.rank());
    int[] sizes = value.shape().clone();
    for (int i = 0; i < count; i++) {
      int axis = axes[i];
      int step = steps == null ? 1 : steps[i];
      node.require(step != 0, "a step is 0");
      if (isOpen) {
        value = slice(ops, value, axis, ops.at(starts, 0, i), ops.at(ends, 0, i), step);
      } else {
        by[axis] = step;
        from[axis] = first((int) starts.constant().integer(i), sizes[axis], step);
        sizes[axis] = length(from[axis], (int) ends.constant().integer(i), sizes[axis], step);
      }
    }
    node.out(isOpen ? value : ops.slice(value, from, by, sizes));
  }

  /** Starts or ends; those beyond a number, which stand for all there is, are brought within. */
  private static Value limits(Node node, int input, String name, int most) {
    Ops ops = node.ops();
    boolean isOld = node.opset() < 10;
    if (!isOld && !node.isKnown(input)) {
      return ops.flat(ops.cast(node.in(input), DataType.INT64));
    }
    int[] known = isOld ? node.list(name) : node.ints(input);
    node.require(known != null, "it does not say from where to where");
    double[] numbers = Arrays.stream(known).mapToDouble(i -> Math.clamp(i, -most, most)).toArray();
    return ops.constant(DataType.INT64, new int[] {known.length}, numbers);
  }

  /** A part along one axis. Backwards it is one of what is turned round. */
  private static Value slice(Ops ops, Value value, int axis, Value start, Value stated, int step) {
    Value end = step < 0 ? SliceBounds.backwards(ops, stated) : stated;
    boolean isKnown = start.isConstant() && end.isConstant();
    if (isKnown && value.dim(axis) > 0) {
      int size = value.dim(axis);
      int first = first((int) start.constant().integer(0), size, step);
      int last = (int) end.constant().integer(0);
      int[] places = new int[length(first, last, size, step)];
      Arrays.setAll(places, place -> first + place * step);
      Emitter.require(places.length > 0, "nothing is left of it");
      Value length = ops.number(DataType.INT64, places.length);
      return step == 1
          ? OpenSizes.part(ops, value, axis, first, length)
          : ops.gather(value, axis, ops.integers(new int[] {places.length}, places));
    }
    boolean isAll =
        isKnown
            && step == 1
            && start.constant().integer(0) == 0
            && end.constant().integer(0) == SliceBounds.MOST;
    if (isAll) {
      return value;
    }
    Value size = OpenSizes.size(ops, value, axis);
    Value source = value;
    Value first = fromFront(ops, start, size);
    Value last = fromFront(ops, end, size);
    if (step < 0) {
      Value top = ops.add(size, -1);
      first = ops.sub(top, first);
      last = ops.sub(top, last);
      source = ops.reverse(value, axis);
    }
    first = ops.binary(Binary.MINIMUM, ops.max(first, 0), size);
    last = ops.binary(Binary.MINIMUM, ops.max(last, 0), size);
    Value length = ops.max(ops.sub(last, first), 0);
    Value part = OpenSizes.part(ops, source, axis, first, length);
    int stride = Math.abs(step);
    if (stride == 1) {
      return part;
    }
    Value number =
        ops.binary(
            Binary.FLOOR_DIV, ops.add(length, stride - 1), ops.number(DataType.INT64, stride));
    Value places = OpenSizes.part(ops, OpenSizes.places(ops, part, axis), 0, 0, number);
    Value factor = ops.number(DataType.INT32, stride);
    return ops.gather(part, axis, ops.mul(places, factor));
  }

  private static Value fromFront(Ops ops, Value place, Value size) {
    Value isBehind = ops.binary(Binary.LESS, place, ops.number(DataType.INT64, 0));
    return ops.select(isBehind, ops.add(place, size), place);
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
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int rank = value.rank();
    boolean isOld = node.opset() < 11;
    String mode = node.text("mode", "constant");
    boolean isConstant = mode.equals("constant");
    boolean isOpen = value.isOpen() || !isOld && isConstant && node.isTold(1);
    boolean isKnown =
        isOld
            || node.isKnown(1)
                && (!node.has(3) || node.isKnown(3))
                && (!isConstant || !node.has(2) || node.isKnown(2));
    if (!isOpen && !isKnown) {
      Computed.pad(node);
      return;
    }
    boolean isMirrored = isOpen && !isConstant && isKnown;
    node.require(
        !isOpen || isMirrored || isConstant && !isOld, "it pads what has an open size by " + mode);
    double number =
        isOld ? node.real("value", 0) : isConstant && node.has(2) ? node.onlyNumber(2) : 0;
    int[] axes = node.has(3) ? node.axes(node.ints(3), rank) : Dims.range(rank);
    boolean isPlain = value.type().isFloat() && rank <= 4;
    if (isOpen && !isMirrored && (isPlain || !isKnown)) {
      node.require(isPlain, "it pads " + value.text());
      node.out(pad(node, value, axes, number));
      return;
    }
    int[] given = isOld ? node.list(node.opset() < 2 ? "paddings" : "pads") : node.ints(1);
    node.require(given != null && given.length == 2 * axes.length, "its pads do not fit its axes");
    int[] before = new int[rank];
    int[] after = new int[rank];
    for (int i = 0; i < axes.length; i++) {
      before[axes[i]] = given[i];
      after[axes[i]] = given[i + axes.length];
    }
    Value padded = isConstant ? ops.pad(value, before, after, number) : value;
    for (int axis = 0; axis < rank && !isConstant; axis++) {
      if (before[axis] != 0 || after[axis] != 0) {
        boolean isOpenAxis = padded.isOpen() && padded.dim(axis) == 0;
        padded =
            isOpenAxis
                ? openMirror(node, padded, axis, mode, before[axis], after[axis])
                : mirror(node, padded, axis, mode, before[axis], after[axis]);
      }
    }
    node.out(padded);
  }

  /** A number around a value, of which the amount may be computed, but not cut off. */
  private static Value pad(Node node, Value value, int[] axes, double number) {
    Ops ops = node.ops();
    Value pads = node.in(1);
    node.require(pads.count() == 2 * axes.length, "its pads do not fit its axes");
    Sizes sizes = Sizes.of(pads);
    int[] shape = value.shape().clone();
    List<Value> amounts = new ArrayList<>(Collections.nCopies(2 * shape.length, null));
    for (int i = 0; i < axes.length; i++) {
      for (int side = 0; side < 2; side++) {
        int at = i + side * axes.length;
        long known = sizes == null ? Sizes.UNKNOWN : sizes.get(at);
        node.require(known >= 0 || known == Sizes.UNKNOWN, "it cuts off what has an open size");
        boolean isOpen = shape[axes[i]] == 0 || known == Sizes.UNKNOWN;
        shape[axes[i]] = isOpen ? 0 : Math.addExact(shape[axes[i]], (int) known);
        Value amount = ops.cast(ops.at(ops.flat(pads), 0, at), DataType.INT32);
        amounts.set(2 * axes[i] + side, ops.reshape(amount, 1));
      }
    }
    Value none = ops.constant(DataType.INT32, new int[] {1}, 0);
    amounts.replaceAll(each -> each == null ? none : each);
    Value all = ops.reshape(ops.concat(amounts, 0), value.rank(), 2);
    return ops.emitSized(
        value.type(),
        shape,
        OperationCode.PAD_V2,
        ops.operand(value),
        ops.operand(all),
        ops.real(number));
  }

  /** The same by places along an axis, of which only an execution tells how many there are. */
  private static Value openMirror(
      Node node, Value value, int axis, String mode, int before, int after) {
    Ops ops = node.ops();
    node.require(before >= 0 && after >= 0, "it cuts off what has an open size");
    int[] front = ops.budget().ints(before);
    int[] back = ops.budget().ints(after);
    // From the first place on, and from the size on.
    switch (mode) {
      case "reflect" -> {
        Arrays.setAll(front, i -> before - i);
        Arrays.setAll(back, i -> -2 - i);
      }
      case "edge" -> Arrays.fill(back, -1);
      case "wrap" -> {
        Arrays.setAll(front, i -> i - before);
        Arrays.setAll(back, i -> i);
      }
      default -> throw node.refuse("its mode is " + mode);
    }
    Value size = ops.reshape(ops.cast(OpenSizes.size(ops, value, axis), DataType.INT32), 1);
    List<Value> rows = new ArrayList<>();
    if (before > 0) {
      Value row = ops.cast(ops.integers(new int[] {before}, front), DataType.INT32);
      rows.add(mode.equals("wrap") ? ops.add(row, size) : row);
    }
    rows.add(ops.cast(OpenSizes.places(ops, value, axis), DataType.INT32));
    if (after > 0) {
      Value row = ops.cast(ops.integers(new int[] {after}, back), DataType.INT32);
      rows.add(mode.equals("wrap") ? row : ops.add(row, size));
    }
    return ops.gather(value, axis, ops.concat(rows, 0));
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
    Value value = node.openIn(0);
    if (value.isOpen() || node.opset() >= 6 && node.isTold(1)) {
      node.out(tile(node, value));
      return;
    }
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

  /** The same where sizes or repetitions are determined by an execution. */
  private static Value tile(Node node, Value value) {
    Ops ops = node.ops();
    boolean isPlain =
        value.type().isFloat() || Emitter.code(value.type()) == OperandCode.TENSOR_INT32;
    node.require(node.opset() >= 6 && isPlain && value.rank() <= 4, "it is of " + value.text());
    int[] shape = value.shape().clone();
    Sizes sizes = Sizes.of(node.in(1));
    for (int i = 0; i < shape.length; i++) {
      long number = sizes == null ? Sizes.UNKNOWN : sizes.get(i);
      shape[i] = number > 0 ? Math.multiplyExact(shape[i], (int) number) : 0;
    }
    Value times = ops.cast(node.in(1), DataType.INT32);
    return ops.emitSized(
        value.type(), shape, OperationCode.TILE, ops.operand(value), ops.operand(times));
  }

  private static void expand(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    if (value.isOpen() || node.isTold(1)) {
      DataType type = value.type() == DataType.BOOL ? DataType.INT32 : value.type();
      Value zeros = OpenSizes.fill(ops, type, Shapes.known(node, 1, 0), node.in(1), 0);
      node.out(ops.cast(ops.add(ops.cast(value, type), zeros), value.type()));
      return;
    }
    int[] shape = node.isKnown(1) ? node.ints(1) : node.stated(0, 1);
    int[] both = Dims.broadcast(value.shape(), shape);
    node.require(both != null, value.text() + " does not broadcast to " + Dims.text(shape));
    node.out(ops.expand(value, both));
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
    Value value = node.openIn(0);
    node.require(value.rank() >= 2, "its input is no matrix");
    if (!value.isOpen() && value.count() == 0) {
      node.out(value);
      return;
    }
    int last = value.rank() - 1;
    Value row = OpenSizes.along(ops, OpenSizes.places(ops, value, last - 1), 2, 0);
    Value column = OpenSizes.along(ops, OpenSizes.places(ops, value, last), 2, 1);
    Value shift =
        node.has(1)
            ? ops.cast(ops.reshape(node.in(1)), DataType.INT32)
            : ops.number(DataType.INT32, 0);
    Value border = ops.add(ops.cast(row, DataType.INT32), shift);
    Value isKept =
        ops.binary(
            node.flag("upper", true) ? Binary.GREATER_EQUAL : Binary.LESS_EQUAL,
            ops.cast(column, DataType.INT32),
            border);
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
