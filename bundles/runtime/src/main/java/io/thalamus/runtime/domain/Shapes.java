// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.model.Shape;
import java.util.Optional;

/** What two sources say of the same dimensions. Stateless. */
final class Shapes {
  private Shapes() {}

  /**
   * Both together: no dimensions say nothing, 0 is open, all else must be equal. Empty where they
   * contradict each other.
   */
  static Optional<Shape> combine(Shape a, Shape b) {
    if (a.rank() == 0 || b.rank() == 0) {
      return Optional.of(a.rank() == 0 ? b : a);
    }
    if (a.rank() != b.rank()) {
      return Optional.empty();
    }
    int[] both = a.toArray();
    for (int axis = 0; axis < both.length; axis++) {
      int other = b.dimension(axis);
      if (both[axis] == 0) {
        both[axis] = other;
      } else if (other != 0 && other != both[axis]) {
        return Optional.empty();
      }
    }
    return Optional.of(Shape.of(both));
  }
}
