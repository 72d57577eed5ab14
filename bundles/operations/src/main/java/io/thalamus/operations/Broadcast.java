// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Shape;

/**
 * The way two operands of different shapes are read together: dimensions are aligned from the last
 * one on, and one of size 1 is repeated.
 */
public final class Broadcast {
  private Broadcast() {}

  /** The shape of the result. */
  public static Shape shape(Shape a, Shape b) throws ValidationException {
    int rank = Math.max(a.rank(), b.rank());
    int[] result = new int[rank];
    for (int i = 1; i <= rank; i++) {
      int x = i <= a.rank() ? a.dimension(a.rank() - i) : 1;
      int y = i <= b.rank() ? b.dimension(b.rank() - i) : 1;
      if (x != y && x != 1 && y != 1) {
        throw new ValidationException("shapes " + a + " and " + b + " do not broadcast");
      }
      result[rank - i] = x == 1 ? y : x;
    }
    return Shape.of(result);
  }

  /**
   * For each dimension of the result, how far one step along it moves in an operand of this shape,
   * in elements; 0 where the operand is repeated.
   */
  public static int[] strides(Shape operand, Shape result) {
    int[] strides = new int[result.rank()];
    int stride = 1;
    for (int i = 1; i <= operand.rank(); i++) {
      int dimension = operand.dimension(operand.rank() - i);
      strides[result.rank() - i] = dimension == 1 ? 0 : stride;
      stride *= dimension;
    }
    return strides;
  }
}
