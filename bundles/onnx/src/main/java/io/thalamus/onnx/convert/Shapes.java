// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Constants, and operators that know nothing but shapes or change nothing but them. */
final class Shapes {
  private Shapes() {}

  static void addTo(Converters table) {
    table.add("Constant", Shapes::constant);
    table.add("ConstantOfShape", Shapes::constantOfShape);
    table.add("Shape", Shapes::shape);
    table.add("Size", Shapes::size);
    table.add("Reshape", Shapes::reshape);
    table.add("Flatten", Shapes::flatten);
    table.add("Squeeze", Shapes::squeeze);
    table.add("Unsqueeze", Shapes::unsqueeze);
    table.add("Range", Shapes::range);
    table.add("EyeLike", Shapes::eye);
  }

  static Value integer(long value) {
    return Value.of(Tensor.ofLongs(new int[0], value));
  }

  private static void constant(Node node) {
    Ops ops = node.ops();
    if (node.hasSetting("value")) {
      node.out(node.tensor("value"));
    } else if (node.hasSetting("value_float")) {
      node.out(ops.number(DataType.FLOAT, node.real("value_float", 0)));
    } else if (node.hasSetting("value_int")) {
      node.out(integer(node.onnx().attributes().get("value_int").i()));
    } else if (node.hasSetting("value_ints")) {
      long[] values = node.onnx().attributes().get("value_ints").ints().toArray();
      node.out(Value.of(Tensor.ofLongs(new int[] {values.length}, values)));
    } else if (node.hasSetting("value_floats")) {
      float[] values = node.reals("value_floats");
      double[] wide = new double[values.length];
      Arrays.setAll(wide, i -> values[i]);
      node.out(ops.constant(DataType.FLOAT, new int[] {wide.length}, wide));
    } else {
      throw node.refuse("it is neither a tensor nor numbers");
    }
  }

  private static void constantOfShape(Node node) {
    Ops ops = node.ops();
    Value value = node.hasSetting("value") ? node.tensor("value") : ops.number(DataType.FLOAT, 0);
    node.require(value.count() == 1, "its value is not one number");
    if (node.isTold(0)) {
      double number = value.constant().number(0);
      node.out(OpenSizes.fill(ops, value.type(), known(node, 0, 0), node.in(0), number));
      return;
    }
    int[] shape = node.isKnown(0) ? sizes(node, node.ints(0)) : node.stated(0, 0);
    node.out(ops.expand(ops.reshape(value), shape));
  }

  private static int[] sizes(Node node, int... sizes) {
    node.require(Arrays.stream(sizes).allMatch(size -> size >= 0), "a dimension is negative");
    return sizes;
  }

  private static void shape(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    int start = bound(node.setting("start", 0), value.rank());
    int end = Math.max(start, bound(node.setting("end", value.rank()), value.rank()));
    long[] known = Arrays.stream(value.shape(), start, end).asLongStream().toArray();
    if (!value.isOpen()) {
      node.out(Value.of(Tensor.ofLongs(new int[] {known.length}, known)));
      return;
    }
    List<Value> sizes = new ArrayList<>();
    for (int axis = start; axis < end; axis++) {
      sizes.add(ops.reshape(OpenSizes.size(ops, value, axis), 1));
      known[axis - start] = value.dim(axis) > 0 ? value.dim(axis) : Sizes.UNKNOWN;
    }
    Value shape = ops.concat(sizes, 0);
    node.out(shape.isConstant() ? shape : shape.with(new Sizes(known)));
  }

  private static void size(Node node) {
    Value value = node.openIn(0);
    Value product = integer(1);
    for (int axis = 0; axis < value.rank(); axis++) {
      product = node.ops().mul(product, OpenSizes.size(node.ops(), value, axis));
    }
    node.out(product);
  }

  private static int bound(int place, int rank) {
    return Math.clamp(place < 0 ? place + (long) rank : place, 0, rank);
  }

  private static void reshape(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    if (node.has(1) && !node.isKnown(1)) {
      boolean isOpen = value.isOpen() || node.isTold(1);
      node.out(isOpen ? reshapeOpen(node, value) : ops.reshape(value, node.stated(0, 1)));
      return;
    }
    int[] wanted = node.has(1) ? node.ints(1) : node.list("shape");
    node.require(wanted != null, "it does not say to what shape");
    int[] shape = wanted.clone();
    boolean mayBeNone = node.flag("allowzero", false);
    int open = -1;
    long count = 1;
    for (int i = 0; i < shape.length; i++) {
      node.require(shape[i] != 0 || !mayBeNone || !value.isOpen(), "it may have no elements");
      if (shape[i] == 0 && !mayBeNone) {
        node.require(i < value.rank(), "it keeps dimension " + i + ", which there is not");
        shape[i] = value.dim(i);
      }
      if (shape[i] == -1) {
        node.require(open < 0, "two dimensions are left open");
        open = i;
      } else {
        node.require(shape[i] >= 0, "a dimension is " + shape[i]);
        count = Math.multiplyExact(count, shape[i]);
      }
    }
    if (open >= 0 && !value.isOpen()) {
      node.require(count > 0, "an open dimension cannot be derived beside one of 0");
      shape[open] = (int) (value.count() / count);
    }
    node.out(ops.reshape(value, value.isOpen() ? open(value, shape) : shape));
  }

  /** The same where an execution tells to what shape. */
  private static Value reshapeOpen(Node node, Value value) {
    Ops ops = node.ops();
    int[] shape = open(value, known(node, 1, -1));
    if (value.isOpen() && Dims.zeros(shape) <= 1) {
      return ops.reshape(value, shape);
    }
    node.require(value.type().isFloat() && shape.length <= 4, "it is of " + value.text());
    int sizes = ops.operand(ops.cast(node.in(1), DataType.INT32));
    return ops.emitSized(value.type(), shape, OperationCode.RESHAPE, ops.operand(value), sizes);
  }

  /** Sizes as far as they are known; 0 for others, {@code least} for what is less. */
  static int[] known(Node node, int input, int least) {
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

  /**
   * The sizes, of which -1 stands for the rest: 0 where only an execution determines one. The rest
   * is known where the only open size is kept.
   */
  private static int[] open(Value value, int... shape) {
    int[] target = Arrays.stream(shape).map(size -> Math.max(size, 0)).toArray();
    int rest = Arrays.stream(shape).boxed().toList().indexOf(-1);
    if (rest < 1 || value.rank() == 0 || value.dim(0) > 0 || target[0] > 0) {
      return target;
    }
    int own = Dims.count(value.shape(), 1, value.rank());
    int others = Dims.count(Dims.with(target, rest, 1), 1, target.length);
    return own > 0 && others > 0 && own % others == 0
        ? Dims.with(target, rest, own / others)
        : target;
  }

  private static void flatten(Node node) {
    Value value = node.openIn(0);
    int axis = node.setting("axis", 1);
    int split = axis == value.rank() ? axis : node.axis(axis, Math.max(1, value.rank()));
    split = Math.min(split, value.rank());
    node.out(
        node.ops()
            .reshape(
                value,
                Dims.count(value.shape(), 0, split),
                Dims.count(value.shape(), split, value.rank())));
  }

  /** The axes by which an operator knows where to add or remove dimensions, or null. */
  private static int[] axes(Node node) {
    return node.has(1) ? node.ints(1) : node.list("axes");
  }

  private static void squeeze(Node node) {
    Value value = node.openIn(0);
    if (node.has(1) && !node.isKnown(1)) {
      node.out(node.ops().reshape(value, node.stated(0, 1)));
      return;
    }
    int[] given = axes(node);
    node.require(given != null || !value.isOpen(), "it names no axes");
    int[] axes =
        given == null
            ? Arrays.stream(Dims.range(value.rank())).filter(i -> value.dim(i) == 1).toArray()
            : node.axes(given, value.rank());
    for (int axis : axes) {
      node.require(
          value.isOpen() || value.dim(axis) == 1,
          "axis " + axis + " of " + value.text() + " is not of size 1");
    }
    node.out(
        node.ops().reshape(value, Dims.permute(value.shape(), MoveOps.others(value.rank(), axes))));
  }

  private static void unsqueeze(Node node) {
    Value value = node.openIn(0);
    if (node.has(1) && !node.isKnown(1)) {
      node.out(node.ops().reshape(value, node.stated(0, 1)));
      return;
    }
    int[] given = axes(node);
    node.require(given != null, "it names no axes");
    int rank = value.rank() + given.length;
    int[] axes = node.axes(given, rank);
    Arrays.sort(axes);
    int[] shape = value.shape();
    for (int axis : axes) {
      shape = Dims.insert(shape, axis, 1);
    }
    node.out(node.ops().reshape(value, shape));
  }

  private static void range(Node node) {
    Ops ops = node.ops();
    DataType type = node.in(0).type();
    if (node.isKnown(0) && node.isKnown(1) && node.isKnown(2)) {
      double start = node.onlyNumber(0);
      double step = node.onlyNumber(2);
      double count = Math.ceil((node.onlyNumber(1) - start) / step);
      node.require(step != 0 && count < Integer.MAX_VALUE, "it has no end");
      node.out(places(ops, type, (int) Math.max(0, count), start, step));
      return;
    }
    Value start = ops.reshape(node.in(0));
    Value step = ops.reshape(node.in(2));
    int[] shape = node.declared(0) == null ? new int[1] : node.stated(0, 0);
    node.require(shape.length == 1, "its result is no vector");
    Value places =
        shape[0] > 0
            ? places(ops, type, shape[0], 0, 1)
            : places(ops, type, start, ops.reshape(node.in(1)), step);
    node.out(ops.add(ops.mul(places, step), start));
  }

  /** As many places as there are steps to an end, which only an execution determines. */
  private static Value places(Ops ops, DataType type, Value start, Value end, Value step) {
    Value number =
        type.isFloat()
            ? ops.ceil(ops.div(ops.sub(end, start), step))
            : ops.unary(Unary.NEG, ops.binary(Binary.FLOOR_DIV, ops.sub(start, end), step));
    Value count = ops.cast(ops.max(number, 0), DataType.INT32);
    Value ones = OpenSizes.fill(ops, DataType.INT32, new int[1], ops.reshape(count, 1), 1);
    Value places = OpenSizes.found(ops, ones, new int[] {1, 0}, true);
    Value row = OpenSizes.gatherNd(ops, places, ops.integers(new int[] {1}, 0));
    return ops.cast(row, type);
  }

  private static Value places(Ops ops, DataType type, int count, double start, double step) {
    double[] values = ops.budget().doubles(count);
    Arrays.setAll(values, i -> start + i * step);
    return ops.constant(type, new int[] {count}, values);
  }

  private static void eye(Node node) {
    int[] shape = node.in(0).shape();
    node.require(shape.length == 2, "its input is no matrix");
    double[] values = node.ops().budget().doubles(Dims.count(shape));
    int shift = node.setting("k", 0);
    for (int row = 0; row < shape[0]; row++) {
      if (row + shift >= 0 && row + shift < shape[1]) {
        values[row * shape[1] + row + shift] = 1;
      }
    }
    node.out(node.ops().constant(node.type("dtype", node.in(0).type()), shape, values));
  }
}
