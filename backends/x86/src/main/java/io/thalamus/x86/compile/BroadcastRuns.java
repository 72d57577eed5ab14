// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.BroadcastAxis;
import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** The runs of elements of two tensors that are brought to one shape. Stateless. */
final class BroadcastRuns {
  /** Calls of an operation: more are better left to others. */
  private static final long MOST_RUNS = 4096;

  private static final BroadcastAxis ONE = new BroadcastAxis(1, 1, 1);

  private BroadcastRuns() {}

  /**
   * Runs that lie equally far from each other. Places and steps are counted in elements; results
   * stand beside each other.
   *
   * @param count elements of a run
   * @param isFirstRepeated whether the first tensor stays at one element
   * @param isSecondRepeated whether the second does
   * @param blocks runs
   * @param firstStep from one run of the first tensor to the next
   * @param secondStep the same of the second
   */
  record Block(
      long first,
      long second,
      long result,
      int count,
      boolean isFirstRepeated,
      boolean isSecondRepeated,
      int blocks,
      int firstStep,
      int secondStep) {}

  /** Returns whether the tensors and the activation are known, and the runs not too many. */
  static boolean isPossible(OperationView operation) {
    return operation.inputs().stream().skip(2).allMatch(input -> input.value().isPresent())
        && isPossible(operation.input(0), operation.input(1));
  }

  /** Returns whether two tensors are known, and the runs not too many. */
  static boolean isPossible(OperandView one, OperandView other) {
    if (!Sizes.isPossible(one) || !Sizes.isPossible(other)) {
      return false;
    }
    try {
      Shape first = one.shape();
      Shape second = other.shape();
      Shape result = Broadcast.shape(first, second);
      List<BroadcastAxis> axes = BroadcastAxis.of(first, second, result);
      long inner =
          axes.stream()
              .skip(Math.max(0, axes.size() - 2))
              .mapToLong(BroadcastAxis::size)
              .reduce(1, (a, b) -> a * b);
      return result.elementCount() < Sizes.MOST_FLOATS && result.elementCount() / inner < MOST_RUNS;
    } catch (ValidationException e) {
      return false;
    }
  }

  /**
   * Walks over all runs.
   *
   * @param longest elements of the runs of a block
   */
  static void forEach(Shape first, Shape second, Shape result, int longest, Consumer<Block> to) {
    List<BroadcastAxis> axes = new ArrayList<>(BroadcastAxis.of(first, second, result));
    BroadcastAxis inner = axes.isEmpty() ? ONE : axes.removeLast();
    BroadcastAxis middle = axes.isEmpty() || inner.size() > longest ? ONE : axes.removeLast();
    int most = Math.max(1, longest / inner.size());
    long runs = result.elementCount() / inner.size() / middle.size();
    for (long i = 0; i < runs; i++) {
      long firstAt = 0;
      long secondAt = 0;
      long rest = i;
      for (BroadcastAxis axis : axes.reversed()) {
        firstAt += rest % axis.size() * axis.first();
        secondAt += rest % axis.size() * axis.second();
        rest /= axis.size();
      }
      for (int block = 0; block < middle.size(); block += most) {
        for (int from = 0; from < inner.size(); from += longest) {
          to.accept(
              new Block(
                  firstAt + (long) block * middle.first() + (long) from * inner.first(),
                  secondAt + (long) block * middle.second() + (long) from * inner.second(),
                  (i * middle.size() + block) * inner.size() + from,
                  Math.min(longest, inner.size() - from),
                  inner.first() == 0,
                  inner.second() == 0,
                  Math.min(most, middle.size() - block),
                  middle.first(),
                  middle.second()));
        }
      }
    }
  }
}
