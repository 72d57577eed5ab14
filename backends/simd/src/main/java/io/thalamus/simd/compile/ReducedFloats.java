// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.ReducedCells;
import io.thalamus.model.OperationCode;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;
import java.util.Arrays;
import java.util.List;

/**
 * One float of all floats along some axes. Sums of neighbours are four in a fixed order, and long
 * sums are sums of parts, so that fewer of their steps round; neither tiles nor vectors change a
 * bit.
 */
final class ReducedFloats extends UnitStep {
  /** Neighbouring results that are computed together at least. */
  private static final int LEAST = 64;

  /** Rows that are added together, as {@link #addRows} does. */
  private static final int ROWS = 4;

  /** Rows that are added to one sum, before the next one begins. */
  private static final int MOST_ROWS = 1 << 9;

  private final Kind kind;
  private final List<ReducedCells> steps;
  private final Tensor input;
  private final Tensor output;

  /** The number of elements that become one, for a mean; else 1. */
  private final int divisor;

  /** Results along the inner dimension that are computed together. */
  private final int part;

  private final int parts;

  /** The function, and what it begins with. */
  private enum Kind {
    SUM(0),
    PRODUCT(1),
    MAXIMUM(Float.NEGATIVE_INFINITY),
    MINIMUM(Float.POSITIVE_INFINITY);

    private final float start;

    Kind(float start) {
      this.start = start;
    }
  }

  /**
   * @param steps axes that stand side by side each; at least one
   */
  ReducedFloats(
      OperationCode code, List<ReducedCells> steps, Tensor input, Tensor output, Budget budget) {
    ReducedCells first = steps.get(0);
    int wanted = budget.tiles(2L * input.size());
    int part = Math.max(LEAST, Math.ceilDiv(first.inner(), Math.ceilDiv(wanted, first.outer())));
    int parts = Math.ceilDiv(first.inner(), part);
    super(steps.size() > 1 ? 1 : first.outer() * parts, wanted);
    this.part = part;
    this.parts = parts;
    this.steps = steps;
    this.input = input;
    this.output = output;
    kind =
        switch (code) {
          case REDUCE_PROD -> Kind.PRODUCT;
          case REDUCE_MAX -> Kind.MAXIMUM;
          case REDUCE_MIN -> Kind.MINIMUM;
          default -> Kind.SUM;
        };
    divisor = code == OperationCode.MEAN ? input.size() / Math.max(1, output.size()) : 1;
  }

  /** The results of two steps by turns, and the sums of some rows. */
  @Override
  public int scratchFloats() {
    int summed =
        steps.stream()
            .filter(cells -> cells.reduced() > MOST_ROWS)
            .mapToInt(cells -> steps.size() == 1 ? Math.min(part, cells.inner()) : cells.inner())
            .max()
            .orElse(0);
    return turns() + (kind == Kind.SUM ? summed : 0);
  }

  private int turns() {
    return steps.size() == 1 ? 0 : 2 * between();
  }

  private int between() {
    return steps.get(0).outer() * steps.get(0).inner();
  }

  @Override
  void run(Frame frame, Scratch scratch, int first, int end) {
    float[] in = frame.floats(input);
    float[] out = frame.floats(output);
    if (steps.size() == 1) {
      ReducedCells cells = steps.get(0);
      for (int i = first; i < end; i++) {
        int result = i % parts * part;
        int some = Math.min(part, cells.inner() - result);
        reduce(
            frame,
            scratch,
            cells,
            i / parts,
            result,
            some,
            in,
            input.offset(),
            out,
            output.offset(),
            divisor);
      }
      return;
    }
    int from = input.offset();
    for (int i = 0; i < steps.size(); i++) {
      ReducedCells cells = steps.get(i);
      boolean isLast = i == steps.size() - 1;
      float[] target = isLast ? out : scratch.floats;
      int to = isLast ? output.offset() : i % 2 * between();
      for (int outer = 0; outer < cells.outer(); outer++) {
        int divided = isLast ? divisor : 1;
        reduce(frame, scratch, cells, outer, 0, cells.inner(), in, from, target, to, divided);
      }
      in = target;
      from = to;
    }
  }

  private void reduce(
      Frame frame,
      Scratch scratch,
      ReducedCells cells,
      int outer,
      int first,
      int some,
      float[] in,
      int from,
      float[] out,
      int to,
      int divided) {
    int inner = cells.inner();
    int at = to + outer * inner + first;
    int begin = from + outer * cells.reduced() * inner + first;
    if (inner == 1) {
      out[at] = row(in, begin, cells.reduced());
    } else if (kind == Kind.SUM) {
      sumRows(frame, in, begin, inner, Math.min(MOST_ROWS, cells.reduced()), out, at, some);
      for (int i = MOST_ROWS; i < cells.reduced(); i += MOST_ROWS) {
        int rows = Math.min(MOST_ROWS, cells.reduced() - i);
        sumRows(frame, in, begin + i * inner, inner, rows, scratch.floats, turns(), some);
        add(scratch.floats, turns(), out, at, some);
      }
    } else {
      Arrays.fill(out, at, at + some, kind.start);
      for (int i = 0; i < cells.reduced(); i++) {
        add(in, begin + i * inner, out, at, some);
      }
    }
    for (int i = at; divided != 1 && i < at + some; i++) {
      out[i] /= divided;
    }
  }

  private void sumRows(
      Frame frame, float[] in, int from, int distance, int rows, float[] out, int to, int count) {
    if (count >= Lanes.COUNT && !frame.isScalar) {
      Lanes.sumRows(in, from, distance, rows, out, to, count);
      return;
    }
    Arrays.fill(out, to, to + count, 0);
    int row = 0;
    for (; row <= rows - ROWS; row += ROWS) {
      addRows(in, from + row * distance, distance, out, to, count);
    }
    for (; row < rows; row++) {
      add(in, from + row * distance, out, to, count);
    }
  }

  /** Adds some rows, one after the other, to sums that are read and written once. */
  private static void addRows(float[] in, int from, int distance, float[] out, int to, int count) {
    for (int i = 0; i < count; i++) {
      int at = from + i;
      out[to + i] =
          out[to + i] + in[at] + in[at + distance] + in[at + 2 * distance] + in[at + 3 * distance];
    }
  }

  private void add(float[] in, int from, float[] out, int to, int count) {
    switch (kind) {
      case SUM -> {
        for (int i = 0; i < count; i++) {
          out[to + i] += in[from + i];
        }
      }
      case PRODUCT -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = product(out[to + i], in[from + i]);
        }
      }
      case MAXIMUM -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = Math.max(out[to + i], in[from + i]);
        }
      }
      case MINIMUM -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = Math.min(out[to + i], in[from + i]);
        }
      }
    }
  }

  /** Zero stays zero, also where a product before it was infinite: so NNAPI. */
  private static float product(float a, float b) {
    return a == 0 || b == 0 ? 0 : a * b;
  }

  private float row(float[] in, int from, int count) {
    float result = kind.start;
    switch (kind) {
      case SUM -> {
        return sum(in, from, count);
      }
      case PRODUCT -> {
        for (int i = from; i < from + count; i++) {
          result = product(result, in[i]);
        }
      }
      case MAXIMUM -> {
        for (int i = from; i < from + count; i++) {
          result = Math.max(result, in[i]);
        }
      }
      case MINIMUM -> {
        for (int i = from; i < from + count; i++) {
          result = Math.min(result, in[i]);
        }
      }
    }
    return result;
  }

  /** In double where it is long. */
  private static float sum(float[] in, int from, int count) {
    double sum = 0;
    for (int i = 0; i < count; i += MOST_ROWS) {
      sum += shortSum(in, from + i, Math.min(MOST_ROWS, count - i));
    }
    return (float) sum;
  }

  private static float shortSum(float[] in, int from, int count) {
    float sum0 = 0;
    float sum1 = 0;
    float sum2 = 0;
    float sum3 = 0;
    int i = 0;
    for (; i <= count - 4; i += 4) {
      sum0 += in[from + i];
      sum1 += in[from + i + 1];
      sum2 += in[from + i + 2];
      sum3 += in[from + i + 3];
    }
    for (; i < count; i++) {
      sum0 += in[from + i];
    }
    return sum0 + sum1 + (sum2 + sum3);
  }
}
