// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The operators of {@link OpenOperators} that change shapes, or take and move elements. */
final class OpenMoves {
  private OpenMoves() {}

  // ---- shapes ----

  static void shape(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    int end = node.setting("end", value.rank());
    int start = node.setting("start", 0);
    start = Math.clamp(start < 0 ? start + (long) value.rank() : start, 0, value.rank());
    end = Math.clamp(end < 0 ? end + (long) value.rank() : end, start, value.rank());
    List<Value> sizes = new ArrayList<>();
    long[] known = new long[end - start];
    for (int i = start; i < end; i++) {
      sizes.add(node.ops().reshape(OpenSizes.size(node.ops(), value, i), 1));
      known[i - start] = value.dim(i) > 0 ? value.dim(i) : Sizes.UNKNOWN;
    }
    node.require(!sizes.isEmpty(), "it names no dimensions");
    Value shape = node.ops().concat(sizes, 0);
    node.out(shape.isConstant() ? shape : shape.with(new Sizes(known)));
  }

  static void count(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    Value product = node.ops().number(DataType.INT64, 1);
    for (int i = 0; i < value.rank(); i++) {
      product = node.ops().mul(product, OpenSizes.size(node.ops(), value, i));
    }
    node.out(product);
  }

  /** Sizes as far as they are known; 0 for others. */
  private static int[] sizes(Node node, int input) throws ModelFormatException {
    Value value = node.in(input);
    Sizes sizes = Sizes.of(value);
    node.require(value.rank() == 1, value.text() + " is no shape");
    int[] shape = new int[value.dim(0)];
    for (int i = 0; i < shape.length; i++) {
      long size = sizes == null ? Sizes.UNKNOWN : sizes.get(i);
      shape[i] = size == Sizes.UNKNOWN ? 0 : Math.toIntExact(Math.max(size, 0));
    }
    return shape;
  }

  static void reshape(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    node.require(!node.flag("allowzero", false), "it may have no elements");
    int[] shape;
    if (!node.has(1)) {
      shape = node.list("shape");
    } else if (node.isKnown(1)) {
      shape = node.ints(1);
      for (int i = 0; i < shape.length; i++) {
        node.require(shape[i] != 0 || i < value.rank(), "it keeps a dimension there is not");
        shape[i] = shape[i] == 0 ? value.dim(i) : shape[i];
      }
    } else {
      shape = sizes(node, 1);
    }
    node.require(shape != null, "it does not say to what shape");
    int[] target = Arrays.stream(shape).map(size -> Math.max(size, 0)).toArray();
    node.out(OpenSizes.reshape(node.ops(), value, target));
  }

  static void flatten(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    int axis = node.setting("axis", 1);
    int split = axis == value.rank() ? axis : node.axis(axis, value.rank());
    int before = Dims.count(value.shape(), 0, split);
    int behind = Dims.count(value.shape(), split, value.rank());
    node.out(OpenSizes.reshape(node.ops(), value, before, behind));
  }

  private static int[] axes(Node node) throws ModelFormatException {
    int[] axes = node.has(1) ? node.ints(1) : node.list("axes");
    node.require(axes != null, "it names no axes");
    return axes;
  }

  static void squeeze(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    int[] axes = node.axes(axes(node), value.rank());
    int[] shape = Dims.permute(value.shape(), MoveOps.others(value.rank(), axes));
    node.out(OpenSizes.reshape(node.ops(), value, shape));
  }

  static void unsqueeze(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    int[] given = axes(node);
    int[] axes = node.axes(given, value.rank() + given.length);
    Arrays.sort(axes);
    int[] shape = value.shape();
    for (int axis : axes) {
      shape = Dims.insert(shape, axis, 1);
    }
    node.out(OpenSizes.reshape(node.ops(), value, shape));
  }

  static void transpose(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    int[] order = node.list("perm");
    if (order == null) {
      order = new int[value.rank()];
      for (int i = 0; i < order.length; i++) {
        order[i] = order.length - 1 - i;
      }
    }
    node.require(
        Arrays.equals(Arrays.stream(order).sorted().toArray(), Dims.range(value.rank())),
        "its perm " + Arrays.toString(order) + " does not order " + value.rank() + " dimensions");
    node.out(OpenSizes.transpose(node.ops(), value, order));
  }

  // ---- places ----

  static void concat(Node node) throws ModelFormatException {
    List<Value> values = new ArrayList<>();
    for (int i = 0; i < node.inputs(); i++) {
      values.add(node.openIn(i));
      node.require(
          values.get(i).rank() == values.getFirst().rank()
              && values.get(i).type() == values.getFirst().type(),
          values.getFirst().text() + " and " + values.get(i).text() + " differ");
    }
    int axis = node.axis(node.setting("axis", 1), values.getFirst().rank());
    node.out(OpenSizes.concat(node.ops(), values, axis));
  }

  static void slice(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    boolean isOld = node.opset() < 10;
    int[] starts = isOld ? node.list("starts") : node.ints(1);
    boolean isEndKnown = isOld || node.isKnown(2);
    int[] ends = isOld ? node.list("ends") : isEndKnown ? node.ints(2) : starts;
    node.require(starts != null && ends != null, "it does not say from where to where");
    int[] given = isOld ? node.list("axes") : node.has(3) ? node.ints(3) : null;
    int[] axes = node.axes(given == null ? Dims.range(starts.length) : given, value.rank());
    int[] steps = node.has(4) ? node.ints(4) : new int[0];
    node.require(
        axes.length == starts.length && ends.length == starts.length,
        "its starts and axes differ in number");
    for (int i = 0; i < axes.length; i++) {
      int axis = axes[i];
      int step = i < steps.length ? steps[i] : 1;
      if (isEndKnown && value.dim(axis) > 0) {
        int first = Movement.first(starts[i], value.dim(axis), step);
        int[] places = new int[Movement.length(first, ends[i], value.dim(axis), step)];
        Arrays.setAll(places, place -> first + place * step);
        node.require(places.length > 0, "nothing is left of it");
        Value chosen = ops.integers(new int[] {places.length}, places);
        Value length = ops.number(DataType.INT64, places.length);
        value =
            step == 1
                ? OpenSizes.part(ops, value, axis, first, length)
                : OpenSizes.gather(ops, value, axis, chosen);
        continue;
      }
      node.require(step == 1, "its steps along an axis of unknown size are not 1");
      Value size = OpenSizes.size(ops, value, axis);
      if (isEndKnown && ends[i] == Integer.MAX_VALUE && starts[i] == 0) {
        continue;
      }
      node.require(starts[i] >= 0 || size.isConstant(), "it counts from an end that is not known");
      int start = starts[i] < 0 ? Math.max(0, starts[i] + value.dim(axis)) : starts[i];
      Value end =
          isEndKnown
              ? ops.number(DataType.INT64, ends[i])
              : ops.reshape(ops.at(ops.cast(node.in(2), DataType.INT64), 0, i));
      Value isBehind = ops.binary(Binary.LESS, end, ops.number(DataType.INT64, 0));
      Value last = ops.select(isBehind, ops.add(end, size), end);
      Value first = ops.binary(Binary.MINIMUM, ops.number(DataType.INT64, start), size);
      Value length = ops.max(ops.sub(ops.binary(Binary.MINIMUM, last, size), first), 0);
      value = OpenSizes.part(ops, value, axis, start, length);
    }
    node.out(value);
  }

  static void split(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", 0), value.rank());
    int[] sizes = node.has(1) ? node.ints(1) : node.list("split");
    if (sizes == null) {
      node.require(value.dim(axis) % node.outputs() == 0, "its parts differ");
      sizes = new int[node.outputs()];
      Arrays.fill(sizes, value.dim(axis) / node.outputs());
    }
    node.require(
        sizes.length == node.outputs() && Arrays.stream(sizes).allMatch(size -> size > 0),
        "it splits along an axis of which only an execution tells the size");
    int start = 0;
    for (int i = 0; i < sizes.length; i++) {
      Value length = ops.number(DataType.INT64, sizes[i]);
      node.out(i, OpenSizes.part(ops, value, axis, start, length));
      start += sizes[i];
    }
  }

  static void gather(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", 0), value.rank());
    Value places = OpenSizes.cast(ops, node.openIn(1), DataType.INT32);
    Value size = ops.cast(OpenSizes.size(ops, value, axis), DataType.INT32);
    node.out(OpenSizes.gather(ops, value, axis, counted(ops, places, size)));
  }

  private static Value counted(Ops ops, Value places, Value size) throws ModelFormatException {
    if (places.isConstant()) {
      return Indexing.counted(ops, places, size);
    }
    Value zero = ops.number(DataType.INT32, 0);
    return OpenSizes.select(
        ops,
        OpenSizes.binary(ops, Binary.LESS, places, zero),
        OpenSizes.binary(ops, Binary.ADD, places, size),
        places);
  }

  static void gatherNd(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    Value places = OpenSizes.cast(ops, node.openIn(1), DataType.INT32);
    int depth = places.rank() == 0 ? 0 : places.dim(places.rank() - 1);
    node.require(
        node.setting("batch_dims", 0) == 0 && depth > 0 && depth <= value.rank(),
        "its places do not fit " + value.text());
    List<Value> sizes = new ArrayList<>();
    for (int i = 0; i < depth; i++) {
      Value size = OpenSizes.size(ops, value, i);
      sizes.add(ops.reshape(ops.cast(size, DataType.INT32), 1));
    }
    Value counted = counted(ops, places, ops.concat(sizes, 0));
    node.out(OpenSizes.gatherNd(ops, value, counted));
  }

  static void compress(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.hasSetting("axis") ? node.openIn(0) : OpenSizes.flat(ops, node.openIn(0));
    int axis = node.axis(node.setting("axis", 0), value.rank());
    Value condition = node.openIn(1);
    node.require(condition.rank() == 1, "its condition is no vector");
    Value places = OpenSizes.found(ops, condition, new int[] {0, 1}, false);
    node.out(
        axis == 0
            ? OpenSizes.gatherNd(ops, value, places)
            : OpenSizes.gather(ops, value, axis, OpenSizes.flat(ops, places)));
  }

  static void nonZero(Node node) throws ModelFormatException {
    Value value = node.openIn(0);
    Value places = OpenSizes.found(node.ops(), value, new int[] {value.rank(), 0}, true);
    places.setTurned(OpenSizes.found(node.ops(), value, new int[] {0, value.rank()}, false));
    node.out(places);
  }

  static void nonMaxSuppression(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    node.out(
        ops.emitSized(
            DataType.INT64,
            new int[] {0, 3},
            ThalamusExtension.NON_MAX_SUPPRESSION,
            ops.operand(node.openIn(0)),
            ops.operand(node.openIn(1)),
            ops.operand(Search.limit(node, 2, DataType.INT32, 0)),
            ops.operand(Search.limit(node, 3, DataType.FLOAT, 0)),
            ops.operand(Search.limit(node, 4, DataType.FLOAT, Double.NEGATIVE_INFINITY)),
            ops.bool(node.flag("center_point_box", false))));
  }

  // ---- made of sizes ----

  static void range(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value start = ops.reshape(node.in(0));
    Value step = ops.reshape(node.in(2));
    Value end = ops.reshape(node.in(1));
    Value number =
        start.type().isFloat()
            ? ops.ceil(ops.div(ops.sub(end, start), step))
            : ops.unary(Unary.NEG, ops.binary(Binary.FLOOR_DIV, ops.sub(start, end), step));
    Value count = ops.cast(ops.max(number, 0), DataType.INT32);
    Value ones = OpenSizes.fill(ops, DataType.INT32, new int[1], ops.reshape(count, 1), 1);
    Value places = OpenSizes.found(ops, ones, new int[] {1, 0}, true);
    Value row = OpenSizes.gatherNd(ops, places, ops.integers(new int[] {1}, 0));
    Value numbers = OpenSizes.cast(ops, row, start.type());
    Value steps = OpenSizes.binary(ops, Binary.MUL, numbers, step);
    node.out(OpenSizes.binary(ops, Binary.ADD, steps, start));
  }

  static void constantOfShape(Node node) throws ModelFormatException {
    Value value =
        node.hasSetting("value") ? node.tensor("value") : node.ops().number(DataType.FLOAT, 0);
    node.require(value.count() == 1, "its value is not one number");
    Value sizes = node.ops().cast(node.in(0), DataType.INT32);
    node.out(
        OpenSizes.fill(
            node.ops(), value.type(), sizes(node, 0), sizes, value.constant().number(0)));
  }

  static void expand(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    DataType type = value.type() == DataType.BOOL ? DataType.INT32 : value.type();
    Value zeros =
        OpenSizes.fill(ops, type, sizes(node, 1), ops.cast(node.in(1), DataType.INT32), 0);
    Value sum = OpenSizes.binary(ops, Binary.ADD, OpenSizes.cast(ops, value, type), zeros);
    node.out(OpenSizes.cast(ops, sum, value.type()));
  }

  /** As many as there are at most, behind those that there are least ones. */
  static void topK(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", -1), value.rank());
    node.require(
        axis == value.rank() - 1 && value.type().isFloat(), "it is not the last axis of reals");
    boolean isComputed = node.opset() >= 10 && !node.isKnown(1);
    Sizes sizes = isComputed ? Sizes.of(node.in(1)) : null;
    long most =
        isComputed
            ? sizes == null ? Sizes.UNKNOWN : sizes.most()
            : node.opset() < 10 ? node.setting("k", 0) : node.onlyInt(1);
    if (isComputed && most == Sizes.UNKNOWN && value.dim(axis) > 0) {
      most = value.dim(axis);
    }
    node.require(most > 0 && most < 1 << 20, "nothing says how many it takes at most");
    boolean isLargest = node.flag("largest", true);
    Value signed = isLargest ? value : OpenSizes.unary(ops, Unary.NEG, value);
    int last = ops.int32Vector(axis);
    Value turned =
        ops.emitSized(
            value.type(), value.shape(), ThalamusExtension.REVERSE, ops.operand(signed), last);
    int[] more = new int[2 * value.rank()];
    int[] shape = Dims.with(value.shape(), axis, 0);
    if (isComputed) {
      more[2 * axis + 1] = (int) most;
      turned =
          ops.emitSized(
              value.type(),
              shape,
              OperationCode.PAD_V2,
              ops.operand(turned),
              ops.operand(ops.integers(new int[] {value.rank(), 2}, more)),
              ops.real(-Float.MAX_VALUE));
    }
    int[] found = Dims.with(value.shape(), axis, (int) most);
    Value values = ops.temporary(value.type(), found);
    Value places = ops.temporary(DataType.INT64, found);
    ops.addUnchecked(
        OperationCode.TOPK_V2,
        List.of(ops.operand(turned), ops.int32((int) most)),
        List.of(values.operand(), places.operand()));
    Value behind = ops.sub(OpenSizes.size(ops, value, axis), Shapes.integer(1));
    Value fromFront = OpenSizes.binary(ops, Binary.SUB, behind, places);
    Value result = isLargest ? values : OpenSizes.unary(ops, Unary.NEG, values);
    if (isComputed) {
      Value length = ops.reshape(node.in(1));
      result = OpenSizes.part(ops, result, axis, 0, length);
      fromFront = OpenSizes.part(ops, fromFront, axis, 0, length);
    }
    node.out(0, result);
    node.out(1, fromFront);
  }
}
