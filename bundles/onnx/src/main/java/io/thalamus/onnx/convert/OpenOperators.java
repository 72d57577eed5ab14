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
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Operators that change shapes or take elements by other steps where only an execution tells a size
 * of their values or results. Those that are not here take known sizes alone, unless they ask for
 * {@link Node#openIn}.
 */
final class OpenOperators {
  private static final Optional<OperandCode> INTEGERS = Optional.of(OperandCode.TENSOR_INT32);

  private static final Map<String, Open> TABLE =
      Map.of(
          "Reshape", new Open(OpenOperators::reshape, 1),
          "Slice", new Open(OpenOperators::slice, 1, 2),
          "Range", new Open(OpenOperators::range, 0, 1, 2),
          "ConstantOfShape", new Open(OpenOperators::constantOfShape, 0),
          "Expand", new Open(OpenOperators::expand, 1),
          "Pad", new Open(OpenOperators::pad, 1),
          "Tile", new Open(OpenOperators::tile, 1));

  private OpenOperators() {}

  /**
   * The converter of an operator.
   *
   * @param told inputs that tell it a size and may be computed
   */
  private record Open(Consumer<Node> converter, int... told) {}

  /** Returns whether an operator is one for here, and converts it then. */
  static boolean convert(Node node) {
    String name = node.onnx().type();
    Open open = node.onnx().domain().isEmpty() ? TABLE.get(name) : null;
    if (open == null || !isOpen(node) && !isToldLater(node, name, open.told())) {
      return false;
    }
    open.converter().accept(node);
    return true;
  }

  private static boolean isOpen(Node node) {
    for (int i = 0; i < node.inputs(); i++) {
      if (node.has(i) && node.any(i).isOpen()) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether a size is computed that the file does not state. */
  private static boolean isToldLater(Node node, String name, int... told) {
    for (int input : told) {
      boolean isNew =
          switch (name) {
            case "Slice" -> node.opset() >= 10;
            case "Pad" -> node.opset() >= 11 && node.text("mode", "constant").equals("constant");
            case "Tile" -> node.opset() >= 6;
            default -> true;
          };
      boolean isTold = input < node.inputs() && isNew;
      if (isTold && node.has(input) && !node.isKnown(input)) {
        return node.declared(0) == null;
      }
    }
    return false;
  }

  // ---- shapes ----

  /** Sizes as far as they are known; 0 for others, {@code least} for what is less. */
  private static int[] sizes(Node node, int input, int least) {
    Value value = node.in(input);
    Sizes sizes = Sizes.of(value);
    node.require(value.rank() == 1, value.text() + " is no shape");
    int[] shape = new int[value.dim(0)];
    for (int i = 0; i < shape.length; i++) {
      long size = sizes == null ? Sizes.UNKNOWN : sizes.get(i);
      shape[i] = size == Sizes.UNKNOWN ? 0 : Math.toIntExact(Math.max(size, least));
    }
    return shape;
  }

  private static void reshape(Node node) {
    Value value = node.openIn(0);
    boolean mayBeNone = node.flag("allowzero", false);
    int[] shape;
    if (!node.has(1)) {
      shape = node.list("shape");
    } else if (node.isKnown(1)) {
      shape = node.ints(1);
      for (int i = 0; i < shape.length; i++) {
        node.require(shape[i] != 0 || !mayBeNone, "it may have no elements");
        node.require(shape[i] != 0 || i < value.rank(), "it keeps a dimension there is not");
        shape[i] = shape[i] == 0 ? value.dim(i) : shape[i];
      }
    } else {
      shape = sizes(node, 1, -1);
    }
    node.require(shape != null, "it does not say to what shape");
    int[] target = Arrays.stream(shape).map(size -> Math.max(size, 0)).toArray();
    boolean isOne = Arrays.stream(target).filter(size -> size == 0).count() <= 1;
    if (isOne && value.isOpen() || !node.has(1) || node.isKnown(1)) {
      node.out(node.ops().reshape(value, rest(value, shape, target)));
      return;
    }
    node.require(value.type().isFloat() && target.length <= 4, "it is of " + value.text());
    Value sizes = node.ops().cast(node.in(1), DataType.INT32);
    node.out(
        node.ops()
            .emitSized(
                value.type(),
                rest(value, shape, target),
                OperationCode.RESHAPE,
                node.ops().operand(value),
                node.ops().operand(sizes)));
  }

  /** The sizes, of which one that stands for the rest is known where the only open one is kept. */
  private static int[] rest(Value value, int[] shape, int[] target) {
    int rest = 0;
    while (rest < shape.length && shape[rest] != -1) {
      rest++;
    }
    boolean isKept = rest > 0 && rest < shape.length && value.rank() > 0 && value.dim(0) == 0;
    if (!isKept || target[0] != 0) {
      return target;
    }
    int own = Dims.count(value.shape(), 1, value.rank());
    int others = 1;
    for (int i = 1; i < target.length; i++) {
      others *= i == rest ? 1 : target[i];
    }
    return own > 0 && others > 0 && own % others == 0
        ? Dims.with(target, rest, own / others)
        : target;
  }

  // ---- places ----

  private static void slice(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    boolean isOld = node.opset() < 10;
    Value starts = limits(node, 1, "starts");
    Value ends = limits(node, 2, "ends");
    int count = starts.dim(0);
    int[] given = isOld ? node.list("axes") : node.has(3) ? node.ints(3) : null;
    int[] axes = node.axes(given == null ? Dims.range(count) : given, value.rank());
    int[] steps = node.has(4) ? node.ints(4) : new int[0];
    node.require(
        axes.length == count && ends.dim(0) == count, "its starts and axes differ in number");
    for (int i = 0; i < count; i++) {
      int step = i < steps.length ? steps[i] : 1;
      node.require(step != 0, "a step of it is 0");
      Value end = ops.at(ends, 0, i);
      end = step < 0 ? SliceBounds.backwards(ops, end) : end;
      value = slice(ops, value, axes[i], ops.at(starts, 0, i), end, step);
    }
    node.out(value);
  }

  /** Starts or ends; those beyond 30 bits, which stand for all there is, are brought within. */
  private static Value limits(Node node, int input, String name) {
    Ops ops = node.ops();
    int[] known =
        node.opset() < 10 ? node.list(name) : node.isKnown(input) ? node.ints(input) : null;
    if (known == null) {
      node.require(node.opset() >= 10, "it does not say from where to where");
      return ops.flat(ops.cast(node.in(input), DataType.INT64));
    }
    double[] numbers = Arrays.stream(known).mapToDouble(OpenOperators::within).toArray();
    return ops.constant(DataType.INT64, new int[] {known.length}, numbers);
  }

  private static int within(int limit) {
    return Math.clamp(limit, -SliceBounds.MOST, SliceBounds.MOST);
  }

  /** A part along one axis. Backwards it is one of what is turned round. */
  private static Value slice(Ops ops, Value value, int axis, Value start, Value end, int step) {
    boolean isKnown = start.isConstant() && end.isConstant();
    if (isKnown && value.dim(axis) > 0) {
      int size = value.dim(axis);
      int first = Movement.first((int) start.constant().integer(0), size, step);
      int last = (int) end.constant().integer(0);
      int[] places = new int[Movement.length(first, last, size, step)];
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

  /** A number around a value, of which the amount may be computed, but not cut off. */
  private static void pad(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    String mode = node.text("mode", "constant");
    node.require(
        mode.equals("constant") && node.opset() >= 11, "it pads what has an open size by " + mode);
    double number = node.has(2) ? node.onlyNumber(2) : 0;
    int[] axes = node.has(3) ? node.axes(node.ints(3), value.rank()) : Dims.range(value.rank());
    Value pads = node.in(1);
    node.require(pads.count() == 2 * axes.length, "its pads do not fit its axes");
    Sizes sizes = Sizes.of(pads);
    Value result = value;
    boolean isPlain = value.type().isFloat() && value.rank() <= 4;
    if (pads.isConstant() && !isPlain) {
      for (int i = 0; i < axes.length; i++) {
        Value before = around(ops, result, axes[i], (int) sizes.get(i), number);
        Value after = around(ops, result, axes[i], (int) sizes.get(i + axes.length), number);
        result = ops.concat(List.of(before, result, after), axes[i]);
      }
      node.out(result);
      return;
    }
    node.require(isPlain, "it pads " + value.text());
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
    node.out(
        ops.emitSized(
            value.type(),
            shape,
            OperationCode.PAD_V2,
            ops.operand(value),
            ops.operand(all),
            ops.real(number)));
  }

  private static Value around(Ops ops, Value value, int axis, int count, double number) {
    int[] shape = Dims.with(value.shape(), axis, count);
    for (int i = 0; i < shape.length; i++) {
      Emitter.require(i == axis || shape[i] > 0, "it pads " + value.text());
    }
    Emitter.require(count >= 0, "it cuts off what has an open size");
    return ops.fill(value.type(), shape, number);
  }

  private static void tile(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    boolean isPlain = value.type().isFloat() || value.type().operand().equals(INTEGERS);
    node.require(node.opset() >= 6 && isPlain && value.rank() <= 4, "it is of " + value.text());
    int[] shape = value.shape().clone();
    Sizes sizes = Sizes.of(node.in(1));
    for (int i = 0; i < shape.length; i++) {
      long times = sizes == null ? Sizes.UNKNOWN : sizes.get(i);
      shape[i] = times > 0 ? Math.multiplyExact(shape[i], (int) times) : 0;
    }
    node.out(
        ops.emitSized(
            value.type(),
            shape,
            OperationCode.TILE,
            ops.operand(value),
            ops.operand(ops.cast(node.in(1), DataType.INT32))));
  }

  // ---- made of sizes ----

  private static void range(Node node) {
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
    Value numbers = ops.cast(row, start.type());
    Value steps = ops.mul(numbers, step);
    node.out(ops.add(steps, start));
  }

  private static void constantOfShape(Node node) {
    Value value =
        node.hasSetting("value") ? node.tensor("value") : node.ops().number(DataType.FLOAT, 0);
    node.require(value.count() == 1, "its value is not one number");
    Value sizes = node.ops().cast(node.in(0), DataType.INT32);
    node.out(
        OpenSizes.fill(
            node.ops(), value.type(), sizes(node, 0, 0), sizes, value.constant().number(0)));
  }

  private static void expand(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    DataType type = value.type() == DataType.BOOL ? DataType.INT32 : value.type();
    Value zeros =
        OpenSizes.fill(ops, type, sizes(node, 1, 0), ops.cast(node.in(1), DataType.INT32), 0);
    Value sum = ops.add(ops.cast(value, type), zeros);
    node.out(ops.cast(sum, value.type()));
  }
}
