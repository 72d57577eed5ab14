// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.BroadcastAxis;
import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.ValidationException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;

/** The runs of elements of tensors that are brought to one shape. Stateless. */
final class BroadcastRuns {
  /** Calls of an operation: more are better left to others. */
  private static final long MOST_RUNS = 4096;

  private BroadcastRuns() {}

  /**
   * One tensor in runs that lie equally far from each other, counted in elements.
   *
   * @param at where it begins
   * @param isRepeated whether a run stays at one element
   * @param step from one run to the next
   */
  record Run(long at, boolean isRepeated, int step) {}

  /**
   * Runs of some tensors. Results stand beside each other.
   *
   * @param result where they begin
   * @param count elements of a run
   * @param blocks runs
   */
  record Block(List<Run> tensors, long result, int count, int blocks) {
    Run first() {
      return tensors.getFirst();
    }

    Run second() {
      return tensors.getLast();
    }
  }

  /** The dimensions of runs; the outer ones are walked by calls. */
  private record Dimensions(List<BroadcastAxis> outer, BroadcastAxis middle, BroadcastAxis inner) {
    static Dimensions of(List<Shape> tensors, Shape result, int longest) {
      BroadcastAxis one = new BroadcastAxis(1, Collections.nCopies(tensors.size(), 1));
      List<BroadcastAxis> axes = new ArrayList<>(BroadcastAxis.of(tensors, result));
      BroadcastAxis inner = axes.isEmpty() ? one : axes.removeLast();
      BroadcastAxis middle = axes.isEmpty() || inner.size() > longest ? one : axes.removeLast();
      return new Dimensions(axes, middle, inner);
    }
  }

  /** Returns whether the tensors and the activation are known, and the runs not too many. */
  static boolean isPossible(OperationView operation) {
    return operation.hasValues(2) && isPossible(operation.input(0), operation.input(1));
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
      return result.elementCount() < Sizes.MOST_FLOATS
          && calls(List.of(first, second), result) < MOST_RUNS;
    } catch (ValidationException e) {
      return false;
    }
  }

  /** Returns the elements of a run of some tensors. */
  static int count(List<Shape> tensors, Shape result) {
    return Dimensions.of(tensors, result, Integer.MAX_VALUE).inner().size();
  }

  /** Returns the calls that walk over runs of any length. */
  static long calls(List<Shape> tensors, Shape result) {
    long calls = 1;
    for (BroadcastAxis axis : Dimensions.of(tensors, result, Integer.MAX_VALUE).outer()) {
      calls *= axis.size();
    }
    return calls;
  }

  /** Walks over all runs of the two tensors of an operation. */
  static void forEach(ResolvedOperation operation, int longest, Consumer<Block> to) {
    List<Shape> tensors = List.of(operation.inputShape(0), operation.inputShape(1));
    forEach(tensors, operation.outputShape(0), longest, to);
  }

  /**
   * Walks over all runs.
   *
   * @param longest elements of the runs of a block
   */
  static void forEach(List<Shape> tensors, Shape result, int longest, Consumer<Block> to) {
    Dimensions dimensions = Dimensions.of(tensors, result, longest);
    BroadcastAxis inner = dimensions.inner();
    BroadcastAxis middle = dimensions.middle();
    int most = Math.max(1, longest / inner.size());
    long runs = result.elementCount() / inner.size() / middle.size();
    for (long i = 0; i < runs; i++) {
      long[] starts = starts(dimensions.outer(), tensors.size(), i);
      for (int block = 0; block < middle.size(); block += most) {
        for (int from = 0; from < inner.size(); from += longest) {
          List<Run> found = new ArrayList<>();
          for (int k = 0; k < starts.length; k++) {
            int step = middle.steps().get(k);
            int element = inner.steps().get(k);
            long at = starts[k] + (long) block * step + (long) from * element;
            found.add(new Run(at, element == 0, step));
          }
          to.accept(
              new Block(
                  found,
                  (i * middle.size() + block) * inner.size() + from,
                  Math.min(longest, inner.size() - from),
                  Math.min(most, middle.size() - block)));
        }
      }
    }
  }

  /** Returns by tensor the first element of a run. */
  private static long[] starts(List<BroadcastAxis> axes, int tensors, long run) {
    long[] starts = new long[tensors];
    long rest = run;
    for (BroadcastAxis axis : axes.reversed()) {
      for (int k = 0; k < tensors; k++) {
        starts[k] += rest % axis.size() * axis.steps().get(k);
      }
      rest /= axis.size();
    }
    return starts;
  }
}
