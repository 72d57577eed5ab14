// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/** Operators that make one element of many. */
final class Reductions {
  private static final int MAX_GUESSED = 8;

  private Reductions() {}

  /** A reduction over axes that stay with size 1. */
  @FunctionalInterface
  private interface Step {
    Value of(Ops ops, Value value, int... axes);
  }

  static void addTo(Converters table) {
    table.add("ReduceSum", over((ops, x, axes) -> ops.reduce(Reduction.SUM, x, axes), true));
    table.add("ReduceMean", over((ops, x, axes) -> ops.reduce(Reduction.MEAN, x, axes), true));
    table.add("ReduceMax", over((ops, x, axes) -> extreme(ops, true, x, axes), true));
    table.add("ReduceMin", over((ops, x, axes) -> extreme(ops, false, x, axes), true));
    table.add("ReduceProd", over((ops, x, axes) -> ops.reduce(Reduction.PRODUCT, x, axes), true));
    table.add("ReduceL1", over(Reductions::sumOfSizes, false));
    table.add("ReduceL2", over(Reductions::length, false));
    table.add("ReduceSumSquare", over(Reductions::sumOfSquares, false));
    table.add("ReduceLogSum", over(Reductions::logOfSum, false));
    table.add("ReduceLogSumExp", over(Reductions::logOfSumOfExp, false));
    table.add("ArgMax", node -> place(node, true));
    table.add("ArgMin", node -> place(node, false));
    table.add("CumSum", Reductions::cumSum);
    table.add("CumProd", Reductions::cumProd);
  }

  private static Value extreme(Ops ops, boolean isMax, Value value, int... axes) {
    if (value.type() == DataType.BOOL) {
      return ops.cast(extreme(ops, isMax, ops.cast(value, DataType.INT32), axes), DataType.BOOL);
    }
    return ops.reduce(isMax ? Reduction.MAX : Reduction.MIN, value, axes);
  }

  private static Value sumOfSizes(Ops ops, Value value, int... axes) {
    return ops.reduce(Reduction.SUM, ops.unary(Unary.ABS, value), axes);
  }

  private static Value sumOfSquares(Ops ops, Value value, int... axes) {
    return ops.reduce(Reduction.SUM, ops.square(value), axes);
  }

  private static Value length(Ops ops, Value value, int... axes) {
    return ops.unary(Unary.SQRT, sumOfSquares(ops, value, axes));
  }

  private static Value logOfSum(Ops ops, Value value, int... axes) {
    return ops.unary(Unary.LOG, ops.reduce(Reduction.SUM, value, axes));
  }

  /** The largest element is taken out in front, so that large ones do not overflow. */
  private static Value logOfSumOfExp(Ops ops, Value value, int... axes) {
    Value largest = ops.reduce(Reduction.MAX, value, axes);
    Value rest = ops.unary(Unary.EXP, ops.sub(value, largest));
    return ops.add(largest, logOfSum(ops, rest, axes));
  }

  /**
   * A reduction.
   *
   * @param isIdentityOnOne whether one element is reduced to itself
   */
  private static Consumer<Node> over(Step step, boolean isIdentityOnOne) {
    return node -> {
      Ops ops = node.ops();
      Value value = node.openIn(0);
      boolean keeps = node.flag("keepdims", true);
      if (node.has(1) && !node.isKnown(1)) {
        int[] shape = node.stated(0, 1);
        List<int[]> possible = axesByShape(node, node.in(0).shape(), shape, keeps, isIdentityOnOne);
        Value result = ops.reshape(step.of(ops, value, possible.getFirst()), shape);
        for (int[] axes : possible.subList(1, possible.size())) {
          Value other = ops.reshape(step.of(ops, value, axes), shape);
          result = ops.select(isMeant(node, keeps, axes), other, result);
        }
        Value isAny = ops.number(DataType.BOOL, 0);
        for (int[] axes : possible) {
          isAny = ops.binary(Binary.OR, isAny, isMeant(node, keeps, axes));
        }
        node.out(ops.only(result, isAny));
        return;
      }
      int[] given = node.has(1) ? node.ints(1) : node.list("axes");
      boolean isNone = given == null || given.length == 0;
      if (isNone && node.flag("noop_with_empty_axes", false)) {
        node.out(isIdentityOnOne ? value : step.of(ops, value));
        return;
      }
      int[] axes = isNone ? Dims.range(value.rank()) : node.axes(given, value.rank());
      Value result = step.of(ops, value, axes);
      node.out(
          keeps
              ? result
              : ops.reshape(
                  result, Dims.permute(result.shape(), MoveOps.others(value.rank(), axes))));
    };
  }

  /**
   * Returns a value that is true if these axes are those that the second input names, of which
   * those of size 1 do not matter where they are kept.
   */
  private static Value isMeant(Node node, boolean keeps, int... axes) {
    Ops ops = node.ops();
    int[] shape = node.in(0).shape();
    Value named = ops.cast(node.in(1), DataType.INT32);
    Value counted =
        ops.select(
            ops.binary(Binary.LESS, named, ops.number(DataType.INT32, 0)),
            ops.add(named, shape.length),
            named);
    boolean isNoneAll = !node.flag("noop_with_empty_axes", false) && named.count() == 0;
    Value all = ops.number(DataType.BOOL, 1);
    for (int i = 0; i < shape.length; i++) {
      int axis = i;
      boolean isReduced = Arrays.stream(axes).anyMatch(one -> one == axis);
      if (keeps && shape[axis] == 1) {
        continue;
      }
      Value hits = ops.number(DataType.INT32, isNoneAll ? 1 : 0);
      if (named.count() > 0) {
        Value isHit = ops.binary(Binary.EQUAL, counted, ops.number(DataType.INT32, axis));
        hits = ops.reduce(Reduction.SUM, ops.cast(isHit, DataType.INT32), 0);
      }
      Value is = ops.cast(ops.reshape(hits), DataType.BOOL);
      all = ops.binary(Binary.AND, all, isReduced ? is : ops.not(is));
    }
    return all;
  }

  /** The axes that are possible by what the file states for the result. */
  private static List<int[]> axesByShape(
      Node node, int[] shape, int[] result, boolean keeps, boolean isIdentityOnOne) {
    node.require(shape.length <= MAX_GUESSED, "its axes are not known beforehand");
    List<int[]> found = new ArrayList<>();
    for (int set = 0; set < 1 << shape.length; set++) {
      int[] axes = new int[0];
      int[] left = new int[0];
      for (int i = 0; i < shape.length; i++) {
        boolean isReduced = (set >> i & 1) != 0;
        axes = isReduced ? Dims.insert(axes, axes.length, i) : axes;
        if (keeps || !isReduced) {
          left = Dims.insert(left, left.length, isReduced ? 1 : shape[i]);
        }
      }
      boolean isNeeded =
          !isIdentityOnOne || Arrays.stream(axes).allMatch(axis -> shape[axis] != 1) || !keeps;
      if (Arrays.equals(left, result) && isNeeded) {
        found.add(axes);
      }
    }
    int count = node.in(1).count();
    List<int[]> fitting =
        keeps ? found : found.stream().filter(axes -> axes.length == count).toList();
    node.require(
        !fitting.isEmpty() && (!keeps || fitting.size() == 1),
        "its axes are not known before the model is executed");
    return fitting;
  }

  private static void place(Node node, boolean isLargest) {
    Value value = node.openIn(0);
    int axis = node.axis(node.setting("axis", 0), value.rank());
    boolean isLast = node.flag("select_last_index", false);
    Value place = node.ops().place(value, axis, isLargest, isLast);
    node.out(
        node.flag("keepdims", true)
            ? node.ops().reshape(place, Dims.with(value.shape(), axis, 1))
            : place);
  }

  /** A product with a triangle of ones. */
  private static void cumSum(Node node) {
    Ops ops = node.ops();
    Value value = node.openIn(0);
    if (node.isKnown(1) || value.rank() == 1) {
      int axis = node.isKnown(1) ? node.axis(node.onlyInt(1), value.rank()) : 0;
      node.out(cumSum(node, value, axis));
      return;
    }
    Value named = ops.reshape(ops.cast(node.in(1), DataType.INT32));
    Value result = cumSum(node, value, 0);
    for (int axis = 1; axis < value.rank(); axis++) {
      Value isMeant =
          ops.binary(
              Binary.OR,
              ops.binary(Binary.EQUAL, named, ops.number(DataType.INT32, axis)),
              ops.binary(Binary.EQUAL, named, ops.number(DataType.INT32, axis - value.rank())));
      result = ops.select(isMeant, cumSum(node, value, axis), result);
    }
    node.out(result);
  }

  private static Value cumSum(Node node, Value value, int axis) {
    Ops ops = node.ops();
    if (value.type().is8Bit() || value.type().is16Bit()) {
      return ops.cast(cumSum(node, ops.cast(value, DataType.INT32), axis), value.type());
    }
    boolean isExclusive = node.flag("exclusive", false);
    Binary isAdded = isExclusive ? Binary.LESS : Binary.LESS_EQUAL;
    if (node.flag("reverse", false)) {
      isAdded = isExclusive ? Binary.GREATER : Binary.GREATER_EQUAL;
    }
    Value places = OpenSizes.places(ops, value, axis);
    Value from = OpenSizes.along(ops, places, 2, 0);
    Value isIn = ops.binary(isAdded, from, OpenSizes.along(ops, places, 2, 1));
    Value moved = ops.toEnd(value, axis);
    Value rows = value.rank() == 1 ? ops.reshape(moved, 1, value.dim(0)) : moved;
    Value sums = ops.multiply(rows, ops.cast(isIn, value.type()), false);
    int[] back = Dims.inverse(Dims.join(MoveOps.others(value.rank(), axis), new int[] {axis}));
    return ops.transpose(ops.reshape(sums, moved.shape()), back);
  }

  /** Each element times the products of so many before it, which are doubled until all are in. */
  private static void cumProd(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    int axis = node.axis(node.onlyInt(1), value.rank());
    boolean isReverse = node.flag("reverse", false);
    Value product = isReverse ? ops.reverse(value, axis) : value;
    int size = value.dim(axis);
    if (node.flag("exclusive", false) && size > 0) {
      product = behindOnes(ops, product, axis, 1);
    }
    for (int step = 1; step < size; step *= 2) {
      product = ops.mul(product, behindOnes(ops, product, axis, step));
    }
    node.out(isReverse ? ops.reverse(product, axis) : product);
  }

  private static Value behindOnes(Ops ops, Value value, int axis, int step) {
    Value ones = ops.fill(value.type(), Dims.with(value.shape(), axis, step), 1);
    return ops.concat(List.of(ones, ops.part(value, axis, 0, value.dim(axis) - step)), axis);
  }
}
