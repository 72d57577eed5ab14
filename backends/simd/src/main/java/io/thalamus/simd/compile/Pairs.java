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
 * the two is either read on or stays at one element. Immutable.
 *
 * @param left the first tensor
 * @param right the second tensor
 * @param output the result
 * @param first where each run begins in the first tensor
 * @param second where each run begins in the second tensor
 * @param result where each run begins in the result
 * @param lengths elements of each run
 * @param isFirstRepeated whether the first tensor stays at one element
 * @param isSecondRepeated whether the second tensor stays at one element
 */
public record Pairs(
    Tensor left,
    Tensor right,
    Tensor output,
    int[] first,
    int[] second,
    int[] result,
    int[] lengths,
    boolean isFirstRepeated,
    boolean isSecondRepeated) {

  /** Shorter runs are cheap only where there are few of them. */
  private static final int SHORTEST = 8;

  /** Runs that may be shorter: they take four megabytes. */
  private static final int MOST_SHORT = 1 << 18;

  /** Returns true if the runs are long enough, or there are few of them. */
  static boolean isPossible(Shape first, Shape second, Shape result) {
    List<BroadcastAxis> axes = BroadcastAxis.of(first, second, result);
    return axes.size() < 2
        || axes.getLast().size() >= SHORTEST
        || result.elementCount() / Math.max(1, axes.getLast().size()) <= MOST_SHORT;
  }

  /** The runs of two tensors. */
  static Pairs of(Tensor first, Tensor second, Tensor output, Shape result) {
    List<BroadcastAxis> axes = BroadcastAxis.of(first.shape(), second.shape(), result);
    BroadcastAxis inner = axes.isEmpty() ? new BroadcastAxis(1, 1, 1) : axes.removeLast();
    int length = Math.min(Scratch.LONGEST_RUN, inner.size());
    int pieces = (inner.size() + length - 1) / length;
    List<int[]> starts = new ArrayList<>();
    walk(axes, 0, first.offset(), second.offset(), starts);
    int count = starts.size() * pieces;
    int[] firsts = new int[count];
    int[] seconds = new int[count];
    int[] results = new int[count];
    int[] lengths = new int[count];
    for (int i = 0; i < count; i++) {
      int[] start = starts.get(i / pieces);
      int within = i % pieces * length;
      firsts[i] = start[0] + within * inner.first();
      seconds[i] = start[1] + within * inner.second();
      results[i] = output.offset() + i / pieces * inner.size() + within;
      lengths[i] = Math.min(length, inner.size() - within);
    }
    return new Pairs(
        first,
        second,
        output,
        firsts,
        seconds,
        results,
        lengths,
        inner.first() == 0,
        inner.second() == 0);
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
