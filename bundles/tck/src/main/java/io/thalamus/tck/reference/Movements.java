// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.OperandCode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Operations that only move elements: for each element of the output, where it comes from. */
final class Movements {
  private Movements() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("RESHAPE", Formula.single(Movements::reshape));
    formulas.put("SQUEEZE", Formula.single(Movements::squeeze));
    formulas.put("EXPAND_DIMS", Formula.single(Movements::expandDims));
    formulas.put("TRANSPOSE", Formula.single(Movements::transpose));
    formulas.put("CONCATENATION", Formula.single(Movements::concatenation));
    formulas.put("SPLIT", Movements::split);
    formulas.put("SLICE", Formula.single(Movements::slice));
    formulas.put("STRIDED_SLICE", Formula.single(Movements::stridedSlice));
    formulas.put("PAD", Formula.single(call -> pad(call, 0)));
    formulas.put("PAD_V2", Formula.single(call -> pad(call, padValue(call))));
    formulas.put("TILE", Formula.single(Movements::tile));
    formulas.put("GATHER", Formula.single(Movements::gather));
    formulas.put("EMBEDDING_LOOKUP", Formula.single(Movements::embeddingLookup));
    formulas.put("CHANNEL_SHUFFLE", Formula.single(Movements::channelShuffle));
    formulas.put("FILL", Formula.single(Movements::fill));
    formulas.put(
        "RANK", Formula.single(call -> Result.exact(new int[0], Bounds.exact(call.in(0).rank()))));
  }

  /** Tells for each position in the output the element of the input, or -1 for the filling. */
  @FunctionalInterface
  interface Source {
    int of(int[] position);
  }

  /** Elements from one input, and a filling where there is none. */
  static Bounds move(Tensor from, int[] shape, double filling, Source source) {
    Bounds out = Bounds.empty(Tensor.elements(shape));
    int[] position = new int[shape.length];
    for (int i = 0; i < out.size(); i++) {
      int element = source.of(position);
      if (element < 0) {
        out.set(i, filling, filling, filling);
      } else {
        out.copy(i, from.real(), element);
      }
      advance(position, shape);
    }
    return out;
  }

  /** The first input's elements in another shape, each from where the source says. */
  private static Result moved(Call call, int[] shape, Source source) {
    return Result.exact(shape, move(call.in(0), shape, 0, source));
  }

  /** Goes on to the next position, row by row. */
  static void advance(int[] position, int[] shape) {
    for (int axis = shape.length - 1; axis >= 0; axis--) {
      if (++position[axis] < shape[axis]) {
        return;
      }
      position[axis] = 0;
    }
  }

  static int element(int[] shape, int... position) {
    int element = 0;
    for (int axis = 0; axis < shape.length; axis++) {
      element = element * shape[axis] + position[axis];
    }
    return element;
  }

  private static Result reshaped(Call call, int[] shape) {
    return Result.exact(shape, call.in(0).real());
  }

  private static Result reshape(Call call) {
    int[] shape = call.ints(1);
    int known = 1;
    int open = -1;
    for (int axis = 0; axis < shape.length; axis++) {
      if (shape[axis] == -1) {
        open = axis;
      } else {
        known *= shape[axis];
      }
    }
    if (open >= 0) {
      shape[open] = call.in(0).size() / known;
    }
    return reshaped(call, shape);
  }

  private static Result squeeze(Call call) {
    int[] shape = call.in(0).shape();
    boolean[] gone = new boolean[shape.length];
    if (call.has(1)) {
      for (int axis : call.ints(1)) {
        gone[Call.axis(axis, shape.length)] = true;
      }
    } else {
      for (int axis = 0; axis < shape.length; axis++) {
        gone[axis] = shape[axis] == 1;
      }
    }
    return reshaped(call, keptOrOne(shape, gone));
  }

  /** The dimensions that are not gone; one of a single element where all are. */
  static int[] keptOrOne(int[] shape, boolean[] gone) {
    int[] left =
        IntStream.range(0, shape.length).filter(i -> !gone[i]).map(i -> shape[i]).toArray();
    return left.length == 0 ? new int[] {1} : left;
  }

  private static Result expandDims(Call call) {
    int[] shape = call.in(0).shape();
    int axis = Call.axis(call.int32(1), shape.length + 1);
    int[] expanded = new int[shape.length + 1];
    System.arraycopy(shape, 0, expanded, 0, axis);
    expanded[axis] = 1;
    System.arraycopy(shape, axis, expanded, axis + 1, shape.length - axis);
    return reshaped(call, expanded);
  }

  private static Result transpose(Call call) {
    int[] shape = call.in(0).shape();
    int[] order = new int[shape.length];
    if (call.has(1)) {
      System.arraycopy(call.ints(1), 0, order, 0, order.length);
    } else {
      Arrays.setAll(order, axis -> shape.length - 1 - axis);
    }
    int[] turned = new int[shape.length];
    Arrays.setAll(turned, axis -> shape[order[axis]]);
    int[] from = new int[shape.length];
    return moved(
        call,
        turned,
        position -> {
          for (int axis = 0; axis < from.length; axis++) {
            from[order[axis]] = position[axis];
          }
          return element(shape, from);
        });
  }

  private static Result concatenation(Call call) {
    int parts = call.inputs().size() - 1;
    int[] shape = call.in(0).shape().clone();
    int axis = Call.axis(call.int32(parts), shape.length);
    shape[axis] = 0;
    boolean moves = true;
    for (int part = 0; part < parts; part++) {
      shape[axis] += call.in(part).shape()[axis];
      moves &= call.isAlike(part);
    }
    Bounds out = Bounds.empty(Tensor.elements(shape));
    int offset = 0;
    for (int part = 0; part < parts; part++) {
      Tensor from = call.in(part);
      int[] position = new int[shape.length];
      int[] to = new int[shape.length];
      for (int i = 0; i < from.size(); i++) {
        System.arraycopy(position, 0, to, 0, to.length);
        to[axis] += offset;
        out.copy(element(shape, to), from.real(), i);
        advance(position, from.shape());
      }
      offset += from.shape()[axis];
    }
    return moves ? Result.exact(shape, out) : Result.rounded(shape, out);
  }

  private static List<Result> split(Call call) {
    int[] whole = call.in(0).shape();
    int axis = Call.axis(call.int32(1), whole.length);
    int parts = call.int32(2);
    int[] shape = whole.clone();
    shape[axis] /= parts;
    List<Result> results = new ArrayList<>();
    for (int part = 0; part < parts; part++) {
      int offset = part * shape[axis];
      results.add(
          moved(
              call,
              shape,
              position -> {
                int[] from = position.clone();
                from[axis] += offset;
                return element(whole, from);
              }));
    }
    return results;
  }

  private static Result slice(Call call) {
    int[] whole = call.in(0).shape();
    int[] begin = call.ints(1);
    int[] shape = call.ints(2);
    for (int axis = 0; axis < shape.length; axis++) {
      shape[axis] = shape[axis] < 0 ? whole[axis] - begin[axis] : shape[axis];
    }
    return moved(
        call,
        shape,
        position -> {
          int[] from = position.clone();
          Arrays.setAll(from, axis -> position[axis] + begin[axis]);
          return element(whole, from);
        });
  }

  private static Result stridedSlice(Call call) {
    int[] whole = call.in(0).shape();
    int rank = whole.length;
    int[] begin = call.ints(1);
    int[] end = call.ints(2);
    int[] stride = call.ints(3);
    int beginMask = call.int32(4);
    int endMask = call.int32(5);
    int shrinkMask = call.int32(6);
    int[] sizes = new int[rank];
    int[] starts = new int[rank];
    boolean[] gone = new boolean[rank];
    for (int axis = 0; axis < rank; axis++) {
      int step = stride[axis];
      int dim = whole[axis];
      int from =
          (beginMask >> axis & 1) != 0
              ? step > 0 ? 0 : dim - 1
              : Math.clamp(
                  begin[axis] < 0 ? begin[axis] + dim : begin[axis],
                  step > 0 ? 0 : -1,
                  step > 0 ? dim : dim - 1);
      int to =
          (endMask >> axis & 1) != 0
              ? step > 0 ? dim : -1
              : Math.clamp(
                  end[axis] < 0 ? end[axis] + dim : end[axis],
                  step > 0 ? 0 : -1,
                  step > 0 ? dim : dim - 1);
      gone[axis] = (shrinkMask >> axis & 1) != 0;
      starts[axis] = from;
      sizes[axis] = gone[axis] ? 1 : Math.max(0, Math.ceilDiv(to - from, step));
    }
    int[] shape = keptOrOne(sizes, gone);
    int[] from = new int[rank];
    Bounds out =
        move(
            call.in(0),
            sizes,
            0,
            position -> {
              Arrays.setAll(from, axis -> starts[axis] + position[axis] * stride[axis]);
              return element(whole, from);
            });
    return Result.exact(shape, out);
  }

  private static double padValue(Call call) {
    double value = call.number(2);
    Call.Output output = call.out(0);
    return Numbers.isQuantized(output.type())
        ? output.scale() * (value - output.zeroPoint())
        : value;
  }

  private static Result pad(Call call, double filling) {
    int[] inner = call.in(0).shape();
    int[] paddings = call.ints(1);
    int[] shape = new int[inner.length];
    Arrays.setAll(shape, a -> paddings[2 * a] + inner[a] + paddings[2 * a + 1]);
    int[] from = new int[inner.length];
    return Result.exact(
        shape,
        move(
            call.in(0),
            shape,
            filling,
            position -> {
              for (int axis = 0; axis < from.length; axis++) {
                from[axis] = position[axis] - paddings[2 * axis];
                if (from[axis] < 0 || from[axis] >= inner[axis]) {
                  return -1;
                }
              }
              return element(inner, from);
            }));
  }

  private static Result tile(Call call) {
    int[] inner = call.in(0).shape();
    int[] multiples = call.ints(1);
    int[] shape = new int[inner.length];
    Arrays.setAll(shape, axis -> inner[axis] * multiples[axis]);
    int[] from = new int[inner.length];
    return moved(
        call,
        shape,
        position -> {
          Arrays.setAll(from, axis -> position[axis] % inner[axis]);
          return element(inner, from);
        });
  }

  private static Result gather(Call call) {
    int[] whole = call.in(0).shape();
    int axis = Call.axis(call.int32(1), whole.length);
    int[] indexes = call.ints(2);
    int[] indexShape = call.in(2).shape();
    return Result.exact(
        gatheredShape(whole, axis, indexShape), gathered(call.in(0), axis, indexes));
  }

  private static int[] gatheredShape(int[] whole, int axis, int[] indexShape) {
    int[] shape = new int[whole.length - 1 + indexShape.length];
    System.arraycopy(whole, 0, shape, 0, axis);
    System.arraycopy(indexShape, 0, shape, axis, indexShape.length);
    System.arraycopy(whole, axis + 1, shape, axis + indexShape.length, whole.length - axis - 1);
    return shape;
  }

  private static Bounds gathered(Tensor from, int axis, int[] indexes) {
    Lines lines = Lines.of(from.shape(), axis);
    int[] flat = {lines.outer(), lines.size(), lines.inner()};
    return move(
        from,
        new int[] {lines.outer(), indexes.length, lines.inner()},
        0,
        position -> element(flat, position[0], indexes[position[1]], position[2]));
  }

  private static Result embeddingLookup(Call call) {
    int[] shape = call.in(1).shape().clone();
    int[] rows = call.ints(0);
    shape[0] = rows.length;
    return Result.exact(shape, gathered(call.in(1), 0, rows));
  }

  private static Result channelShuffle(Call call) {
    int[] shape = call.in(0).shape();
    int groups = call.int32(1);
    int axis = Call.axis(call.int32(2), shape.length);
    int groupSize = shape[axis] / groups;
    return moved(
        call,
        shape,
        position -> {
          int[] from = position.clone();
          from[axis] = position[axis] % groups * groupSize + position[axis] / groups;
          return element(shape, from);
        });
  }

  private static Result fill(Call call) {
    int[] shape = call.ints(0);
    double[] values = new double[Tensor.elements(shape)];
    Arrays.fill(values, call.number(1));
    return call.type() == OperandCode.TENSOR_INT32
        ? Result.exact(shape, Bounds.exact(values))
        : Result.rounded(shape, Bounds.exact(values));
  }
}
