// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** Comparisons of floats, with the number that stands for each in encodings. */
public enum Predicate {
  EQUAL(0),
  LESS(1),
  LESS_OR_EQUAL(2),
  /** Either is NaN. */
  UNORDERED(3),
  /** Also where either is NaN. */
  NOT_EQUAL(4),
  /** Also where either is NaN. */
  NOT_GREATER_OR_EQUAL(9),
  GREATER_OR_EQUAL(13),
  GREATER(14);

  private final int number;

  Predicate(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }
}
