// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Arrays;
import java.util.Optional;

/**
 * The dimensions of an operand, outermost first. Immutable.
 *
 * <p>As in NNAPI, in a model a dimension of 0 is not known yet, and a tensor without dimensions is
 * of unknown rank; a scalar has none. In a result, 0 means that there are no elements.
 */
public final class Shape {
  /** No dimensions: a scalar, or a tensor of unknown rank. */
  public static final Shape NONE = new Shape(new int[0]);

  private final int[] dimensions;

  /** Asked for several times for each argument of an execution; -1 if no long holds it. */
  private final long elementCount;

  private final boolean isFullySpecified;

  private Shape(int[] dimensions) {
    this.dimensions = dimensions;
    long count = 1;
    boolean hasOpen = false;
    boolean isTooLarge = false;
    for (int dimension : dimensions) {
      hasOpen |= dimension == 0;
      isTooLarge |= Math.multiplyHigh(count, dimension) != 0 || count * dimension < 0;
      count *= dimension;
    }
    elementCount = isTooLarge ? -1 : count;
    isFullySpecified = !hasOpen;
  }

  /**
   * A shape with these dimensions.
   *
   * @throws IllegalArgumentException where one is negative
   */
  public static Shape of(int... dimensions) {
    if (dimensions.length == 0) {
      return NONE;
    }
    for (int dimension : dimensions) {
      if (dimension < 0) {
        throw new IllegalArgumentException(
            "a dimension is negative: " + Arrays.toString(dimensions));
      }
    }
    return new Shape(dimensions.clone());
  }

  /** The number of dimensions. */
  public int rank() {
    return dimensions.length;
  }

  /** The dimension at {@code axis}, which is in [0, rank). */
  public int dimension(int axis) {
    return dimensions[axis];
  }

  /** A copy of the dimensions. */
  public int[] toArray() {
    return dimensions.clone();
  }

  /** Returns whether no dimension is 0. True for a shape without dimensions. */
  public boolean isFullySpecified() {
    return isFullySpecified;
  }

  /**
   * The product of the dimensions; 1 for none.
   *
   * @throws ArithmeticException where it exceeds a long
   */
  public long elementCount() {
    if (elementCount < 0) {
      throw new ArithmeticException("more elements than a long can count: " + this);
    }
    return elementCount;
  }

  /** This shape with one dimension replaced. */
  public Shape with(int axis, int dimension) {
    int[] changed = dimensions.clone();
    changed[axis] = dimension;
    return of(changed);
  }

  /**
   * Combines this and another shape of the same value; NNAPI's combineDimensions. No dimensions say
   * nothing, and neither does a dimension of 0; all else must be equal.
   *
   * @return empty where they contradict each other
   */
  public Optional<Shape> combine(Shape other) {
    if (rank() == 0 || equals(other)) {
      return Optional.of(other);
    }
    if (other.rank() == 0) {
      return Optional.of(this);
    }
    if (rank() != other.rank()) {
      return Optional.empty();
    }
    int[] both = toArray();
    for (int axis = 0; axis < both.length; axis++) {
      int dimension = other.dimension(axis);
      if (both[axis] == 0) {
        both[axis] = dimension;
      } else if (dimension != 0 && dimension != both[axis]) {
        return Optional.empty();
      }
    }
    return Optional.of(of(both));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Shape that && Arrays.equals(dimensions, that.dimensions);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(dimensions);
  }

  /** For people: {@code 1x224x224x3}, or {@code []} for none; {@code ?} for a dimension of 0. */
  @Override
  public String toString() {
    if (dimensions.length == 0) {
      return "[]";
    }
    StringBuilder text = new StringBuilder();
    for (int dimension : dimensions) {
      text.append(text.isEmpty() ? "" : "x").append(dimension == 0 ? "?" : dimension);
    }
    return text.toString();
  }
}
