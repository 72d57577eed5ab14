// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.Operand;
import io.thalamus.model.Shape;

/** What several statements about the dimensions of one value say together. */
final class Shapes {
  private Shapes() {}

  /**
   * NNAPI's combineDimensions: no dimensions say nothing, and neither does a dimension of 0.
   *
   * @return null where they contradict each other
   */
  static Shape combine(Shape first, Shape second) {
    if (first.rank() == 0 || first.equals(second)) {
      return second;
    }
    if (second.rank() == 0) {
      return first;
    }
    if (first.rank() != second.rank()) {
      return null;
    }
    int[] combined = second.toArray();
    for (int i = 0; i < combined.length; i++) {
      int dimension = first.dimension(i);
      if (dimension != 0 && combined[i] != 0 && dimension != combined[i]) {
        return null;
      }
      combined[i] = combined[i] == 0 ? dimension : combined[i];
    }
    return Shape.of(combined);
  }

  /** Whether the bytes of a value of this shape can be counted. */
  static boolean isSizeKnown(Operand operand, Shape shape) {
    return !operand.type().isTensor() || (shape.rank() > 0 && shape.isFullySpecified());
  }
}
