// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Map;
import java.util.function.DoubleBinaryOperator;

/** Functions of two elements, with broadcasting, and SELECT. */
final class Pairs {
  private Pairs() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("ADD", arithmetic(Double::sum));
    formulas.put("SUB", arithmetic((a, b) -> a - b));
    formulas.put("MUL", arithmetic((a, b) -> a * b));
    formulas.put("DIV", arithmetic((a, b) -> a / b));
    formulas.put("MAXIMUM", extreme(Math::max));
    formulas.put("MINIMUM", extreme(Math::min));
    formulas.put("POW", Formula.single(Pairs::power));
    formulas.put("PRELU", Formula.single(Pairs::prelu));
    formulas.put("EQUAL", Formula.single(call -> equal(call, false)));
    formulas.put("NOT_EQUAL", Formula.single(call -> equal(call, true)));
    formulas.put("LESS", Formula.single(call -> less(call, 0, 1, true)));
    formulas.put("GREATER", Formula.single(call -> less(call, 1, 0, true)));
    formulas.put("LESS_EQUAL", Formula.single(call -> less(call, 0, 1, false)));
    formulas.put("GREATER_EQUAL", Formula.single(call -> less(call, 1, 0, false)));
    formulas.put("LOGICAL_AND", extreme(Math::min));
    formulas.put("LOGICAL_OR", extreme(Math::max));
    formulas.put("SELECT", Formula.single(Pairs::select));
    formulas.put(Evaluator.name(ThalamusExtension.ATAN2), Formula.single(Pairs::angle));
    formulas.put(
        Evaluator.name(ThalamusExtension.BITWISE_XOR), Formula.single(Pairs::differentBits));
    formulas.put(
        Evaluator.name(ThalamusExtension.RIGHT_SHIFT),
        Formula.single(
            call -> {
              int[] shape = shape(call);
              return Result.exact(
                  shape, corners(call, shape, (a, b) -> (int) a >> (int) Math.clamp(b, 0, 31)));
            }));
  }

  /** The shape that two shapes are broadcast to. */
  static int[] broadcast(int[] a, int[] b) {
    int[] shape = new int[Math.max(a.length, b.length)];
    for (int i = 1; i <= shape.length; i++) {
      int x = i <= a.length ? a[a.length - i] : 1;
      int y = i <= b.length ? b[b.length - i] : 1;
      if (x != y && x != 1 && y != 1) {
        throw new IllegalArgumentException("dimensions " + x + " and " + y);
      }
      shape[shape.length - i] = x == 1 ? y : x;
    }
    return shape;
  }

  /** For each element of a shape the element of a tensor that is broadcast to it. */
  static int[] sources(int[] from, int[] to) {
    int[] sources = new int[Tensor.elements(to)];
    for (int i = 0; i < sources.length; i++) {
      int rest = i;
      int source = 0;
      int stride = 1;
      for (int axis = to.length - 1; axis >= 0; axis--) {
        int position = rest % to[axis];
        rest /= to[axis];
        int own = axis - (to.length - from.length);
        if (own >= 0) {
          source += from[own] == 1 ? 0 : position * stride;
          stride *= from[own];
        }
      }
      sources[i] = source;
    }
    return sources;
  }

  private static Bounds corners(Call call, int[] shape, DoubleBinaryOperator function) {
    Bounds out = Bounds.empty(Tensor.elements(shape));
    int[] a = sources(call.in(0).shape(), shape);
    int[] b = sources(call.in(1).shape(), shape);
    for (int i = 0; i < out.size(); i++) {
      out.setCorners(i, call.in(0).real(), a[i], call.in(1).real(), b[i], function);
    }
    return out;
  }

  private static int[] shape(Call call) {
    return broadcast(call.in(0).shape(), call.in(1).shape());
  }

  private static Formula arithmetic(DoubleBinaryOperator function) {
    return Formula.single(
        call -> {
          int[] shape = shape(call);
          Bounds out = corners(call, shape, function);
          if (function.applyAsDouble(1, 0) == Double.POSITIVE_INFINITY) {
            openWhereDivisorMayBeZero(call, shape, out);
          }
          if (call.type() == OperandCode.TENSOR_INT32) {
            return Result.exact(shape, Activations.clamp(call.int32(2), out.monotone(Math::floor)));
          }
          return Result.rounded(shape, Activations.clamp(call.int32(2), out));
        });
  }

  private static void openWhereDivisorMayBeZero(Call call, int[] shape, Bounds out) {
    int[] sources = sources(call.in(1).shape(), shape);
    Bounds divisor = call.in(1).real();
    for (int i = 0; i < out.size(); i++) {
      if (divisor.low()[sources[i]] <= 0 && divisor.high()[sources[i]] >= 0) {
        out.set(i, Double.NEGATIVE_INFINITY, out.middle()[i], Double.POSITIVE_INFINITY);
      }
    }
  }

  private static Formula extreme(DoubleBinaryOperator function) {
    return Formula.single(
        call -> {
          int[] shape = shape(call);
          Bounds out = corners(call, shape, function);
          boolean moves = call.isAlike(0) && call.isAlike(1);
          return moves ? Result.exact(shape, out) : Result.rounded(shape, out);
        });
  }

  /** Defined for positive bases only. */
  private static Result power(Call call) {
    int[] shape = shape(call);
    Bounds out = corners(call, shape, Math::pow);
    int[] sources = sources(call.in(0).shape(), shape);
    for (int i = 0; i < out.size(); i++) {
      if (call.in(0).real().low()[sources[i]] <= 0 && !call.in(0).real().isExact(sources[i])) {
        out.set(i, Double.NEGATIVE_INFINITY, out.middle()[i], Double.POSITIVE_INFINITY);
      }
    }
    return Result.rounded(shape, out);
  }

  /** The angle leaps from pi to -pi where the first is 0 and the second less. */
  private static Result angle(Call call) {
    int[] shape = shape(call);
    Bounds out = corners(call, shape, Math::atan2);
    int[] a = sources(call.in(0).shape(), shape);
    int[] b = sources(call.in(1).shape(), shape);
    Bounds y = call.in(0).real();
    Bounds x = call.in(1).real();
    for (int i = 0; i < out.size(); i++) {
      if (y.low()[a[i]] <= 0 && y.high()[a[i]] >= 0 && x.low()[b[i]] <= 0) {
        out.set(i, -Math.PI, out.middle()[i], Math.PI);
      }
    }
    return Result.rounded(shape, out);
  }

  private static Result differentBits(Call call) {
    int[] shape = shape(call);
    Bounds out = corners(call, shape, (a, b) -> (int) a ^ (int) b);
    int[] a = sources(call.in(0).shape(), shape);
    int[] b = sources(call.in(1).shape(), shape);
    for (int i = 0; i < out.size(); i++) {
      if (!call.in(0).real().isExact(a[i]) || !call.in(1).real().isExact(b[i])) {
        out.set(i, Integer.MIN_VALUE, out.middle()[i], Integer.MAX_VALUE);
      }
    }
    return Result.exact(shape, out);
  }

  private static Result prelu(Call call) {
    int[] shape = shape(call);
    Bounds negative = corners(call, shape, (x, alpha) -> Math.min(x, 0) * alpha);
    int[] sources = sources(call.in(0).shape(), shape);
    Bounds in = call.in(0).real();
    Bounds out = Bounds.empty(negative.size());
    for (int i = 0; i < out.size(); i++) {
      double low = in.low()[sources[i]];
      double middle = in.middle()[sources[i]];
      double high = in.high()[sources[i]];
      if (low >= 0) {
        out.copy(i, in, sources[i]);
      } else {
        out.set(
            i,
            Math.min(negative.low()[i], high > 0 ? 0 : negative.low()[i]),
            middle >= 0 ? middle : negative.middle()[i],
            Math.max(negative.high()[i], high > 0 ? high : negative.high()[i]));
      }
    }
    return Result.rounded(shape, out);
  }

  /** Returns how near two values of different scales may be for a device to take them for equal. */
  private static double nearness(Call call) {
    Tensor a = call.in(0);
    Tensor b = call.in(1);
    boolean alike = a.scale() == b.scale() && a.zeroPoint() == b.zeroPoint();
    return alike ? 0 : Math.max(a.scale(), b.scale());
  }

  private static Result equal(Call call, boolean negated) {
    int[] shape = shape(call);
    int[] a = sources(call.in(0).shape(), shape);
    int[] b = sources(call.in(1).shape(), shape);
    Bounds x = call.in(0).real();
    Bounds y = call.in(1).real();
    double near = nearness(call);
    Bounds out = Bounds.empty(a.length);
    for (int i = 0; i < a.length; i++) {
      boolean never =
          x.high()[a[i]] + near < y.low()[b[i]] || y.high()[b[i]] + near < x.low()[a[i]];
      boolean always = near == 0 && x.isExact(a[i]) && y.isExact(b[i]) && !never;
      double middle = x.middle()[a[i]] == y.middle()[b[i]] ? 1 : 0;
      double low = always ? 1 : 0;
      double high = never ? 0 : 1;
      if (negated) {
        out.set(i, 1 - high, 1 - middle, 1 - low);
      } else {
        out.set(i, low, middle, high);
      }
    }
    return Result.exact(shape, out);
  }

  /** Input {@code first} is less than input {@code second}, or, not strictly, equal to it. */
  private static Result less(Call call, int first, int second, boolean strictly) {
    int[] shape = shape(call);
    int[] a = sources(call.in(first).shape(), shape);
    int[] b = sources(call.in(second).shape(), shape);
    Bounds x = call.in(first).real();
    Bounds y = call.in(second).real();
    double near = nearness(call);
    Bounds out = Bounds.empty(a.length);
    for (int i = 0; i < a.length; i++) {
      out.set(
          i,
          isLess(x.high()[a[i]] + near, y.low()[b[i]], strictly),
          isLess(x.middle()[a[i]], y.middle()[b[i]], strictly),
          isLess(x.low()[a[i]] - near, y.high()[b[i]], strictly));
    }
    return Result.exact(shape, out);
  }

  private static double isLess(double a, double b, boolean strictly) {
    return a < b || (!strictly && a == b) ? 1 : 0;
  }

  private static Result select(Call call) {
    Bounds condition = call.in(0).real();
    Bounds x = call.in(1).real();
    Bounds y = call.in(2).real();
    Bounds out = Bounds.empty(condition.size());
    for (int i = 0; i < out.size(); i++) {
      if (condition.isExact(i)) {
        out.copy(i, condition.middle()[i] != 0 ? x : y, i);
      } else {
        out.set(
            i,
            Math.min(x.low()[i], y.low()[i]),
            condition.middle()[i] != 0 ? x.middle()[i] : y.middle()[i],
            Math.max(x.high()[i], y.high()[i]));
      }
    }
    boolean moves = call.isAlike(1) && call.isAlike(2);
    int[] shape = call.in(0).shape();
    return moves ? Result.exact(shape, out) : Result.rounded(shape, out);
  }
}
