// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * Two tensors that are broadcast to a third, as runs: stretches of the result over which each of
 * the two is either read on or stays at one element. Immutable.
 *
 * @param first where each run begins in the first tensor
 * @param second where each run begins in the second tensor
 * @param result where each run begins in the result
 * @param lengths elements of each run
 * @param isFirstRepeated whether the first tensor stays at one element
 * @param isSecondRepeated whether the second tensor stays at one element
 */
public record Pairs(
    int[] first,
    int[] second,
    int[] result,
    int[] lengths,
    boolean isFirstRepeated,
    boolean isSecondRepeated) {

  /** Shorter runs do not pay for being called. */
  private static final int SHORTEST = 8;

  /** A dimension of the result, and how far one step along it moves in each tensor. */
  private record Axis(int size, int first, int second) {
    private boolean continues(Axis inner) {
      return first == inner.size * inner.first && second == inner.size * inner.second;
    }
  }

  /** Returns true if the runs are long enough. */
  static boolean isPossible(Shape first, Shape second, Shape result) {
    List<Axis> axes = axes(first, second, result);
    return axes.isEmpty() || axes.getLast().size() >= SHORTEST || axes.size() == 1;
  }

  /** The runs of two tensors. */
  static Pairs of(Tensor first, Tensor second, Tensor output, Shape result) {
    List<Axis> axes = axes(first.shape(), second.shape(), result);
    Axis inner = axes.isEmpty() ? new Axis(1, 1, 1) : axes.removeLast();
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
    return new Pairs(firsts, seconds, results, lengths, inner.first() == 0, inner.second() == 0);
  }

  private static void walk(List<Axis> axes, int depth, int first, int second, List<int[]> starts) {
    if (depth == axes.size()) {
      starts.add(new int[] {first, second});
      return;
    }
    Axis axis = axes.get(depth);
    for (int i = 0; i < axis.size(); i++) {
      walk(axes, depth + 1, first + i * axis.first(), second + i * axis.second(), starts);
    }
  }

  /** The dimensions of the result, those joined that can be walked as one. */
  private static List<Axis> axes(Shape first, Shape second, Shape result) {
    int[] firstStrides = Broadcast.strides(first, result);
    int[] secondStrides = Broadcast.strides(second, result);
    List<Axis> axes = new ArrayList<>();
    for (int i = result.rank() - 1; i >= 0; i--) {
      Axis axis = new Axis(result.dimension(i), firstStrides[i], secondStrides[i]);
      if (axis.size() == 1) {
        continue;
      }
      if (!axes.isEmpty() && axis.continues(axes.getFirst())) {
        Axis inner = axes.removeFirst();
        axis = new Axis(axis.size() * inner.size(), inner.first(), inner.second());
      }
      axes.addFirst(axis);
    }
    return axes;
  }

  int count() {
    return result.length;
  }
}
