// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.OperandCode;
import java.util.Map;

/** Pools. Padding takes no part in them. */
final class Pools {
  private Pools() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("AVERAGE_POOL_2D", Formula.single(call -> pool(call, Kind.AVERAGE)));
    formulas.put("L2_POOL_2D", Formula.single(call -> pool(call, Kind.L2)));
    formulas.put("MAX_POOL_2D", Formula.single(call -> pool(call, Kind.MAX)));
  }

  private enum Kind {
    AVERAGE,
    L2,
    MAX
  }

  private static Result pool(Call call, Kind kind) {
    boolean explicit = call.inputs().size() >= 10 && call.in(7).type() != OperandCode.BOOL;
    int size = 1 + (explicit ? 6 : 3);
    int activation = size + 2;
    Image in = Image.of(call.in(0).shape(), call.bool(activation + 1, false));
    Windows windows =
        Windows.read(call, 1, explicit, in, call.int32(size + 1), call.int32(size), 1, 1);
    Image out =
        in.with(in.batches(), windows.vertical().out(), windows.horizontal().out(), in.channels());
    Bounds from = call.in(0).real();
    Bounds squares = kind == Kind.L2 ? squares(from) : from;
    Bounds pooled = Bounds.empty(out.size());
    double[] slack = new double[out.size()];
    out.each(
        (b, y, x, c) -> {
          int at = out.at(b, y, x, c);
          Sum sum = new Sum();
          int cells = 0;
          for (int i = 0; i < windows.vertical().filter(); i++) {
            for (int j = 0; j < windows.horizontal().filter(); j++) {
              int fromY = windows.vertical().cell(y, i);
              int fromX = windows.horizontal().cell(x, j);
              if (in.holds(fromY, fromX)) {
                int cell = in.at(b, fromY, fromX, c);
                if (kind == Kind.MAX) {
                  raise(pooled, at, from, cell, cells == 0);
                } else {
                  sum.add(squares, cell);
                }
                cells++;
              }
            }
          }
          if (kind != Kind.MAX) {
            sum.store(pooled, slack, at, cells);
          }
        });
    int fused = call.int32(activation);
    return switch (kind) {
      case MAX ->
          fused == 0 && call.isAlike(0)
              ? Result.exact(out.shape(), pooled)
              : Result.rounded(out.shape(), Activations.clamp(fused, pooled));
      case AVERAGE -> Result.rounded(out.shape(), Activations.clamp(fused, pooled), slack);
      case L2 ->
          Result.rounded(
              out.shape(),
              Activations.clamp(fused, pooled.monotone(v -> Math.sqrt(Math.max(0, v)))),
              null);
    };
  }

  /** Replaces an element by a greater one, bound by bound. */
  static void raise(Bounds to, int at, Bounds from, int element, boolean first) {
    if (first) {
      to.copy(at, from, element);
    } else {
      to.set(
          at,
          Math.max(to.low()[at], from.low()[element]),
          Math.max(to.middle()[at], from.middle()[element]),
          Math.max(to.high()[at], from.high()[element]));
    }
  }

  static Bounds squares(Bounds from) {
    Bounds squares = Bounds.empty(from.size());
    for (int i = 0; i < from.size(); i++) {
      double low = from.low()[i] * from.low()[i];
      double high = from.high()[i] * from.high()[i];
      boolean spansZero = from.low()[i] <= 0 && from.high()[i] >= 0;
      squares.set(
          i,
          spansZero ? 0 : Math.min(low, high),
          from.middle()[i] * from.middle()[i],
          Math.max(low, high));
    }
    return squares;
  }
}
