// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.Comparator;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Map;

/** Reductions along axes, ARGMAX, ARGMIN, TOPK_V2 and DYNAMIC_QUANTIZE_LINEAR. */
final class Reductions {
  private Reductions() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("MEAN", Formula.single(call -> reduce(call, Kind.MEAN)));
    formulas.put("REDUCE_SUM", Formula.single(call -> reduce(call, Kind.SUM)));
    formulas.put("REDUCE_PROD", Formula.single(call -> reduce(call, Kind.PRODUCT)));
    formulas.put("REDUCE_MAX", Formula.single(call -> reduce(call, Kind.MAX)));
    formulas.put("REDUCE_MIN", Formula.single(call -> reduce(call, Kind.MIN)));
    formulas.put("REDUCE_ANY", Formula.single(call -> reduce(call, Kind.MAX)));
    formulas.put("REDUCE_ALL", Formula.single(call -> reduce(call, Kind.MIN)));
    formulas.put("ARGMAX", Formula.single(call -> arg(call, 1)));
    formulas.put("ARGMIN", Formula.single(call -> arg(call, -1)));
    formulas.put("TOPK_V2", Reductions::topK);
    formulas.put(
        Evaluator.name(ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR), Reductions::dynamicQuantize);
  }

  private enum Kind {
    MEAN,
    SUM,
    PRODUCT,
    MAX,
    MIN
  }

  private static Result reduce(Call call, Kind kind) {
    int[] shape = call.in(0).shape();
    boolean[] gone = new boolean[shape.length];
    for (int axis : call.ints(1)) {
      gone[Call.axis(axis, shape.length)] = true;
    }
    int[] reduced = shape.clone();
    for (int axis = 0; axis < shape.length; axis++) {
      reduced[axis] = gone[axis] ? 1 : shape[axis];
    }
    Bounds out = Bounds.empty(Tensor.elements(reduced));
    double[] slack = new double[out.size()];
    Sum[] sums = new Sum[out.size()];
    Arrays.setAll(sums, i -> new Sum());
    boolean[] begun = new boolean[out.size()];
    Bounds from = call.in(0).real();
    Bounds negative = kind == Kind.MIN ? from.monotone(v -> -v) : from;
    int[] position = new int[shape.length];
    int[] to = new int[shape.length];
    for (int i = 0; i < from.size(); i++) {
      Arrays.setAll(to, axis -> gone[axis] ? 0 : position[axis]);
      int at = Movements.element(reduced, to);
      switch (kind) {
        case MEAN, SUM -> sums[at].add(from, i);
        case PRODUCT -> multiply(out, at, from, i, !begun[at]);
        case MAX, MIN -> Pools.raise(out, at, negative, i, !begun[at]);
      }
      begun[at] = true;
      Movements.advance(position, shape);
    }
    int[] finalShape = call.int32(2) > 0 ? reduced : Movements.keptOrOne(shape, gone);
    if (kind == Kind.MEAN || kind == Kind.SUM) {
      double divisor = kind == Kind.MEAN ? (double) from.size() / out.size() : 1;
      for (int i = 0; i < sums.length; i++) {
        sums[i].store(out, slack, i, divisor);
      }
      return Result.rounded(finalShape, out, slack);
    }
    return switch (kind) {
      case PRODUCT -> {
        int factors = from.size() / out.size();
        Arrays.setAll(slack, i -> Sum.LOSS * factors * Math.abs(out.middle()[i]));
        yield Result.rounded(finalShape, out, slack);
      }
      case MIN -> Result.exact(finalShape, out.monotone(v -> -v));
      default -> Result.exact(finalShape, out);
    };
  }

  private static void multiply(Bounds to, int at, Bounds from, int element, boolean first) {
    if (first) {
      to.copy(at, from, element);
    } else {
      to.setCorners(at, to, at, from, element, (a, b) -> a * b);
    }
  }

  /** Computes indexes; any of several equal elements is right, as NNAPI does not choose. */
  private static Result arg(Call call, int sign) {
    int[] shape = call.in(0).shape();
    int axis = Call.axis(call.int32(1), shape.length);
    Lines lines = Lines.of(shape, axis);
    boolean[] gone = new boolean[shape.length];
    gone[axis] = true;
    int[] reduced = Movements.keptOrOne(shape, gone);
    Bounds from = sign > 0 ? call.in(0).real() : call.in(0).real().monotone(v -> -v);
    Bounds out = Bounds.empty(Tensor.elements(reduced));
    for (int line = 0; line < out.size(); line++) {
      int best = 0;
      double floor = Double.NEGATIVE_INFINITY;
      for (int i = 0; i < lines.size(); i++) {
        int at = lines.at(line, i);
        best = from.middle()[at] > from.middle()[lines.at(line, best)] ? i : best;
        floor = Math.max(floor, from.low()[at]);
      }
      int row = line;
      double least = floor;
      IntSummaryStatistics open =
          lines.indexes().filter(i -> from.high()[lines.at(row, i)] >= least).summaryStatistics();
      out.set(line, open.getMin(), best, open.getMax());
    }
    return Result.exact(reduced, out);
  }

  private static List<Result> topK(Call call) {
    int[] shape = call.in(0).shape();
    int k = call.int32(1);
    Lines lines = Lines.of(shape, shape.length - 1);
    int[] chosen = shape.clone();
    chosen[shape.length - 1] = k;
    Bounds from = call.in(0).real();
    Bounds values = Bounds.empty(Tensor.elements(chosen));
    Bounds indexes = Bounds.empty(values.size());
    for (int line = 0; line < lines.outer(); line++) {
      int base = line;
      double[] low = sorted(from.low(), lines, base);
      double[] middle = sorted(from.middle(), lines, base);
      double[] high = sorted(from.high(), lines, base);
      Integer[] order = new Integer[lines.size()];
      Arrays.setAll(order, i -> i);
      Arrays.sort(
          order,
          Comparator.comparingDouble((Integer i) -> from.middle()[lines.at(base, i)]).reversed());
      for (int i = 0; i < k; i++) {
        int n = lines.size() - 1 - i;
        values.set(line * k + i, low[n], middle[n], high[n]);
        setIndex(indexes, line * k + i, order[i], from, lines, base, low[n], high[n]);
      }
    }
    return List.of(Result.exact(chosen, values), Result.exact(chosen, indexes));
  }

  /** Sets the index: any element that may have the value at its place is right. */
  private static void setIndex(
      Bounds indexes,
      int at,
      int middle,
      Bounds from,
      Lines lines,
      int line,
      double low,
      double high) {
    IntSummaryStatistics open =
        lines
            .indexes()
            .filter(
                i -> from.high()[lines.at(line, i)] >= low && from.low()[lines.at(line, i)] <= high)
            .summaryStatistics();
    indexes.set(at, open.getMin(), middle, open.getMax());
  }

  private static double[] sorted(double[] from, Lines lines, int line) {
    double[] values = new double[lines.size()];
    Arrays.setAll(values, i -> from[lines.at(line, i)]);
    Arrays.sort(values);
    return values;
  }

  /** By ONNX's definition; a tensor of zeros has the scale 1. */
  private static List<Result> dynamicQuantize(Call call) {
    Bounds from = call.in(0).real();
    Bounds negative = from.monotone(v -> -v);
    // The largest and the negated least number, which both are 0 at least.
    Bounds most = Bounds.empty(1);
    Bounds below = Bounds.empty(1);
    for (int i = 0; i < from.size(); i++) {
      Pools.raise(most, 0, from, i, false);
      Pools.raise(below, 0, negative, i, false);
    }
    Bounds scale = Bounds.empty(1);
    scale.set(
        0,
        scale(most.low()[0] + below.low()[0]),
        scale(most.middle()[0] + below.middle()[0]),
        scale(most.high()[0] + below.high()[0]));
    Bounds zeroPoint = Bounds.empty(1);
    zeroPoint.setCorners(0, below, 0, scale, 0, Reductions::steps);
    Bounds stored = Bounds.empty(from.size());
    for (int i = 0; i < from.size(); i++) {
      Bounds steps = Bounds.empty(1);
      steps.setCorners(0, from, i, scale, 0, Reductions::steps);
      stored.setCorners(i, steps, 0, zeroPoint, 0, Double::sum);
    }
    int[] single = {1};
    return List.of(
        Result.rounded(call.in(0).shape(), stored),
        Result.rounded(single, scale),
        Result.rounded(single, zeroPoint));
  }

  private static double scale(double range) {
    return range == 0 ? 1 : (float) range / 255f;
  }

  /** The quotient is a float, since its rounding decides between two integers that are as near. */
  private static double steps(double value, double scale) {
    return Math.rint((float) (value / scale));
  }
}
