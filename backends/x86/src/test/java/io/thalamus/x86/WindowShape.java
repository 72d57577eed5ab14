// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Random sizes of a convolution with any padding; the first number of each is of the height. */
final class WindowShape {
  final int[] cells = new int[2];
  final int[] sizes = {1, 1};
  final int[] results = new int[2];
  private final int[] strides = {1, 1};
  private final int[] dilations = {1, 1};

  /** Above, below, left, right. */
  private final int[] padding = new int[4];

  /**
   * Draws sizes; a third of the filters is pointwise.
   *
   * @param most taps of an axis
   */
  WindowShape(Random random, int most) {
    cells[0] = 1 + random.nextInt(9);
    cells[1] = 1 + random.nextInt(13);
    boolean isPointwise = random.nextInt(3) == 0;
    for (int axis = 0; axis < 2; axis++) {
      if (!isPointwise) {
        sizes[axis] = 1 + random.nextInt(most);
        strides[axis] = 1 + random.nextInt(3);
        dilations[axis] = random.nextInt(3) == 0 ? 3 - axis : 1;
        padding[2 * axis] = random.nextInt(3);
        padding[2 * axis + 1] = random.nextInt(3);
      }
      int room =
          cells[axis]
              + padding[2 * axis]
              + padding[2 * axis + 1]
              - (sizes[axis] - 1) * dilations[axis]
              - 1;
      // A filter fits its input.
      padding[2 * axis + random.nextInt(2)] += Math.max(0, -room);
      results[axis] = Math.max(0, room) / strides[axis] + 1;
    }
  }

  /**
   * Returns the inputs of an operation.
   *
   * @param tensors its first three
   * @param multiplier 0 where there is none
   */
  List<Integer> inputs(TestGraph graph, List<Integer> tensors, int multiplier, int activation) {
    List<Integer> in = new ArrayList<>(tensors);
    for (int side : new int[] {2, 3, 0, 1}) {
      in.add(graph.int32(padding[side]));
    }
    in.add(graph.int32(strides[1]));
    in.add(graph.int32(strides[0]));
    if (multiplier > 0) {
      in.add(graph.int32(multiplier));
    }
    in.add(graph.int32(activation));
    in.add(graph.bool(false));
    in.add(graph.int32(dilations[1]));
    in.add(graph.int32(dilations[0]));
    return in;
  }
}
