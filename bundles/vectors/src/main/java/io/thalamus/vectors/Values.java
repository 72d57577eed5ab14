// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.Arrays;

/**
 * The numbers of one operand as they stand in a file: row-major, stored integers of quantized types
 * as they are. Immutable.
 *
 * <p>A double holds every value of every operand type exactly: 32-bit integers as well as floats.
 */
public final class Values {
  /** No values: an omitted argument, or a result without elements. */
  public static final Values NONE = new Values(new double[0]);

  private final double[] numbers;

  private Values(double[] numbers) {
    this.numbers = numbers;
  }

  /** These numbers. */
  public static Values of(double... numbers) {
    return numbers.length == 0 ? NONE : new Values(numbers.clone());
  }

  /** Takes the array over: it must not be changed afterwards. */
  static Values owning(double[] numbers) {
    return numbers.length == 0 ? NONE : new Values(numbers);
  }

  /** Returns the number of values. */
  public int size() {
    return numbers.length;
  }

  public boolean isEmpty() {
    return numbers.length == 0;
  }

  /** The number at {@code index}, which is in [0, size). */
  public double get(int index) {
    return numbers[index];
  }

  /** A copy of the numbers. */
  public double[] toArray() {
    return numbers.clone();
  }

  /** These values with one replaced. */
  public Values with(int index, double number) {
    double[] changed = numbers.clone();
    changed[index] = number;
    return new Values(changed);
  }

  /** Equal bit by bit: 0 and -0 differ, NaN equals itself. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Values that && Arrays.equals(numbers, that.numbers);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(numbers);
  }

  @Override
  public String toString() {
    int shown = Math.min(numbers.length, 8);
    String text = Arrays.toString(Arrays.copyOf(numbers, shown));
    return shown == numbers.length ? text : text + " and " + (numbers.length - shown) + " more";
  }
}
