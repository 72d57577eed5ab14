// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.BroadcastAxis;
import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import java.util.List;

/** The runs of elements of two tensors that are brought to one shape. Stateless. */
final class BroadcastRuns {
  /** Calls of an operation: more are better left to others. */
  private static final long MOST_RUNS = 4096;

  private BroadcastRuns() {}

  /** Receives runs, whose places are counted in elements. */
  @FunctionalInterface
  interface Run {
    /**
     * One run.
     *
     * @param isFirstRepeated whether the first tensor stays at one element
     * @param isSecondRepeated whether the second does
     */
    void accept(
        long first,
        long second,
        long result,
        int count,
        boolean isFirstRepeated,
        boolean isSecondRepeated);
  }

  /** Returns whether the tensors and the activation are known, and the runs not too many. */
  static boolean isPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0))
        || !Sizes.isPossible(operation.input(1))
        || operation.input(2).value().isEmpty()) {
      return false;
    }
    try {
      Shape first = operation.input(0).shape();
      Shape second = operation.input(1).shape();
      Shape result = Broadcast.shape(first, second);
      List<BroadcastAxis> axes = BroadcastAxis.of(first, second, result);
      int inner = axes.isEmpty() ? 1 : axes.getLast().size();
      return result.elementCount() < Sizes.MOST_FLOATS && result.elementCount() / inner < MOST_RUNS;
    } catch (ValidationException e) {
      return false;
    }
  }

  /**
   * Walks over all runs.
   *
   * @param longest elements of a run
   */
  static void forEach(Shape first, Shape second, Shape result, int longest, Run run) {
    List<BroadcastAxis> axes = BroadcastAxis.of(first, second, result);
    BroadcastAxis inner = axes.isEmpty() ? new BroadcastAxis(1, 1, 1) : axes.removeLast();
    long runs = result.elementCount() / inner.size();
    for (long i = 0; i < runs; i++) {
      long firstAt = 0;
      long secondAt = 0;
      long rest = i;
      for (BroadcastAxis axis : axes.reversed()) {
        firstAt += rest % axis.size() * axis.first();
        secondAt += rest % axis.size() * axis.second();
        rest /= axis.size();
      }
      for (int from = 0; from < inner.size(); from += longest) {
        run.accept(
            firstAt + (long) from * inner.first(),
            secondAt + (long) from * inner.second(),
            i * inner.size() + from,
            Math.min(longest, inner.size() - from),
            inner.first() == 0,
            inner.second() == 0);
      }
    }
  }
}
