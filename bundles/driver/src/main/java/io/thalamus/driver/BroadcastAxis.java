// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Shape;
import io.thalamus.operations.Broadcast;
import java.util.ArrayList;
import java.util.List;

/**
 * A dimension of a result, and how far one step along it moves in each of two tensors that are
 * broadcast to it.
 */
public record BroadcastAxis(int size, int first, int second) {
  private boolean continues(BroadcastAxis inner) {
    return first == inner.size * inner.first && second == inner.size * inner.second;
  }

  /** Returns the dimensions of a result, those joined that can be walked as one. */
  public static List<BroadcastAxis> of(Shape first, Shape second, Shape result) {
    int[] firstStrides = Broadcast.strides(first, result);
    int[] secondStrides = Broadcast.strides(second, result);
    List<BroadcastAxis> axes = new ArrayList<>();
    for (int i = result.rank() - 1; i >= 0; i--) {
      BroadcastAxis axis =
          new BroadcastAxis(result.dimension(i), firstStrides[i], secondStrides[i]);
      if (axis.size() == 1) {
        continue;
      }
      if (!axes.isEmpty() && axis.continues(axes.getFirst())) {
        BroadcastAxis inner = axes.removeFirst();
        axis = new BroadcastAxis(axis.size() * inner.size(), inner.first(), inner.second());
      }
      axes.addFirst(axis);
    }
    return axes;
  }
}
