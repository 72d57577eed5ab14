// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import io.thalamus.operations.ResolvedOperation;

/** Walks over the elements of a result together with the elements of the two inputs behind them. */
public final class BroadcastPairs {
  private final int[] dimensions;
  private final int[] firstStrides;
  private final int[] secondStrides;

  private BroadcastPairs(Shape first, Shape second, Shape result) {
    dimensions = result.toArray();
    firstStrides = Broadcast.strides(first, result);
    secondStrides = Broadcast.strides(second, result);
  }

  /** For an operation whose first two inputs are broadcast to its output. */
  public static BroadcastPairs of(ResolvedOperation operation) {
    return new BroadcastPairs(
        operation.inputShape(0), operation.inputShape(1), operation.outputShape(0));
  }

  /** Receives indexes of elements. */
  @FunctionalInterface
  public interface Visitor {
    void visit(long first, long second, long result);
  }

  /** Visits all elements of the result in order. */
  public void forEach(WorkMeter work, Visitor visitor) {
    walk(work, visitor, 0, 0, 0, 0);
  }

  private long walk(
      WorkMeter work, Visitor visitor, int axis, long first, long second, long result) {
    if (axis == dimensions.length) {
      work.done(1);
      visitor.visit(first, second, result);
      return result + 1;
    }
    long next = result;
    for (int i = 0; i < dimensions[axis]; i++) {
      next =
          walk(
              work,
              visitor,
              axis + 1,
              first + (long) i * firstStrides[axis],
              second + (long) i * secondStrides[axis],
              next);
    }
    return next;
  }
}
