// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import java.util.ArrayList;
import java.util.List;

/**
 * A dimension of a result, and how far one step along it moves in each of some tensors that are
 * broadcast to it. Immutable.
 *
 * @param steps by tensor, in elements; 0 where it is repeated
 */
public record BroadcastAxis(int size, List<Integer> steps) {
  public BroadcastAxis {
    steps = List.copyOf(steps);
  }

  /** A dimension that two tensors are broadcast to. */
  public BroadcastAxis(int size, int first, int second) {
    this(size, List.of(first, second));
  }

  /** Returns the step in the first tensor. */
  public int first() {
    return steps.get(0);
  }

  /** Returns the step in the second tensor. */
  public int second() {
    return steps.get(1);
  }

  private boolean continues(BroadcastAxis inner) {
    for (int i = 0; i < steps.size(); i++) {
      if (steps.get(i) != inner.size * inner.steps.get(i)) {
        return false;
      }
    }
    return true;
  }

  /** Returns the dimensions of a result, those joined that can be walked as one. */
  public static List<BroadcastAxis> of(Shape first, Shape second, Shape result) {
    return of(List.of(first, second), result);
  }

  /** Returns the same of any number of tensors. */
  public static List<BroadcastAxis> of(List<Shape> tensors, Shape result) {
    List<int[]> strides = new ArrayList<>(tensors.size());
    for (Shape tensor : tensors) {
      strides.add(Broadcast.strides(tensor, result));
    }
    List<BroadcastAxis> axes = new ArrayList<>();
    for (int i = result.rank() - 1; i >= 0; i--) {
      List<Integer> steps = new ArrayList<>(strides.size());
      for (int[] each : strides) {
        steps.add(each[i]);
      }
      BroadcastAxis axis = new BroadcastAxis(result.dimension(i), steps);
      if (axis.size() == 1) {
        continue;
      }
      if (!axes.isEmpty() && axis.continues(axes.getFirst())) {
        BroadcastAxis inner = axes.removeFirst();
        axis = new BroadcastAxis(axis.size() * inner.size(), inner.steps());
      }
      axes.addFirst(axis);
    }
    return axes;
  }
}
