// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.BroadcastAxis;
import io.thalamus.model.Shape;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * Two tensors that are broadcast to a third, as runs: stretches of the result over which each of
 * the two is either read on or repeats a few of its elements. Immutable.
 *
 * @param left the first tensor
 * @param right the second tensor
 * @param output the result
 * @param first where each run begins in the first tensor
 * @param second where each run begins in the second tensor
 * @param result where each run begins in the result
 * @param lengths elements of each run
 * @param firstPeriod elements of the first tensor that a run repeats; 0 where it is read on
 * @param secondPeriod the same for the second tensor
 */
public record Pairs(
    Tensor left,
    Tensor right,
    Tensor output,
    int[] first,
    int[] second,
    int[] result,
    int[] lengths,
    int firstPeriod,
    int secondPeriod) {

  /** Shorter runs are cheap only where there are few of them. */
  private static final int SHORTEST = 8;

  /** Runs that may be shorter: they take four megabytes. */
  private static final int MOST_SHORT = 1 << 18;

  /** Returns true if the runs are long enough, or there are few of them. */
  static boolean isPossible(Shape first, Shape second, Shape result) {
    Line line = Line.of(first, second, result);
    return line.length() >= SHORTEST
        || result.elementCount() / Math.max(1, line.length()) <= MOST_SHORT;
  }

  /** The runs of two tensors. */
  static Pairs of(Tensor first, Tensor second, Tensor output, Shape result) {
    Line line = Line.of(first.shape(), second.shape(), result);
    int period = Math.max(1, Math.max(line.firstPeriod(), line.secondPeriod()));
    int length = Math.min(Scratch.LONGEST_RUN / period * period, line.length());
    int pieces = (line.length() + length - 1) / length;
    List<int[]> starts = new ArrayList<>();
    walk(line.outer(), 0, first.offset(), second.offset(), starts);
    int count = starts.size() * pieces;
    int[] firsts = new int[count];
    int[] seconds = new int[count];
    int[] results = new int[count];
    int[] lengths = new int[count];
    for (int i = 0; i < count; i++) {
      int[] start = starts.get(i / pieces);
      int within = i % pieces * length;
      firsts[i] = start[0] + (line.firstPeriod() > 0 ? 0 : within);
      seconds[i] = start[1] + (line.secondPeriod() > 0 ? 0 : within);
      results[i] = output.offset() + i / pieces * line.length() + within;
      lengths[i] = Math.min(length, line.length() - within);
    }
    return new Pairs(
        first,
        second,
        output,
        firsts,
        seconds,
        results,
        lengths,
        line.firstPeriod(),
        line.secondPeriod());
  }

  /**
   * The innermost elements of a result, which runs are cut from.
   *
   * @param length elements
   * @param outer the dimensions around them
   */
  private record Line(int length, int firstPeriod, int secondPeriod, List<BroadcastAxis> outer) {
    static Line of(Shape first, Shape second, Shape result) {
      List<BroadcastAxis> axes = BroadcastAxis.of(first, second, result);
      if (axes.isEmpty()) {
        return new Line(1, 0, 0, axes);
      }
      BroadcastAxis inner = axes.removeLast();
      int size = inner.size();
      if (inner.first() == 0 || inner.second() == 0) {
        return new Line(size, 1 - inner.first(), 1 - inner.second(), axes);
      }
      // Such as a number for each channel: the period of one and a stretch of the other.
      if (!axes.isEmpty() && size <= Scratch.LONGEST_RUN / 2) {
        BroadcastAxis around = axes.getLast();
        int length = around.size() * size;
        if (around.first() == size && around.second() == 0) {
          axes.removeLast();
          return new Line(length, 0, size, axes);
        }
        if (around.first() == 0 && around.second() == size) {
          axes.removeLast();
          return new Line(length, size, 0, axes);
        }
      }
      return new Line(size, 0, 0, axes);
    }
  }

  private static void walk(
      List<BroadcastAxis> axes, int depth, int first, int second, List<int[]> starts) {
    if (depth == axes.size()) {
      starts.add(new int[] {first, second});
      return;
    }
    BroadcastAxis axis = axes.get(depth);
    for (int i = 0; i < axis.size(); i++) {
      walk(axes, depth + 1, first + i * axis.first(), second + i * axis.second(), starts);
    }
  }

  int count() {
    return result.length;
  }
}
