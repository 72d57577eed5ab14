// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * A tensor of which dimensions side by side are reduced, by what becomes of its dimensions, in
 * their order.
 *
 * @param outer elements over the dimensions in front, which stay
 * @param reduced elements that become one
 * @param inner elements over the dimensions behind, which stay
 */
public record ReducedCells(int outer, int reduced, int inner) {
  /** Returns them; empty where the axes do not stand side by side. No axes reduce nothing. */
  public static Optional<ReducedCells> of(Shape shape, int[] axes) {
    if (axes.length == 0) {
      return Optional.of(new ReducedCells(product(shape, 0, shape.rank()), 1, 1));
    }
    List<ReducedCells> steps = steps(shape, axes);
    return steps.size() == 1 ? Optional.of(steps.getFirst()) : Optional.empty();
  }

  /**
   * Returns the steps of a reduction over any axes: those that stand side by side are one step, the
   * last ones the first. Empty where an axis does not exist, or there are none.
   */
  public static List<ReducedCells> steps(Shape shape, int[] axes) {
    int rank = shape.rank();
    BitSet reduced = new BitSet();
    for (int axis : axes) {
      if (axis < -rank || axis >= rank) {
        return List.of();
      }
      reduced.set(axis < 0 ? axis + rank : axis);
    }
    List<ReducedCells> steps = new ArrayList<>();
    int inner = 1;
    int end = rank;
    while (end > 0) {
      int begin = reduced.previousClearBit(end - 1) + 1;
      if (begin < end) {
        steps.add(new ReducedCells(product(shape, 0, begin), product(shape, begin, end), inner));
      }
      int kept = begin == 0 ? 0 : reduced.previousSetBit(begin - 1) + 1;
      inner *= product(shape, kept, begin);
      end = kept;
    }
    return List.copyOf(steps);
  }

  private static int product(Shape shape, int first, int end) {
    int product = 1;
    for (int axis = first; axis < end; axis++) {
      product *= shape.dimension(axis);
    }
    return product;
  }
}
