// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/**
 * A vector register, seen at a length. Immutable.
 *
 * @param length of the vector
 * @param number 0 to 31; those from 16 on exist in AVX-512 only
 */
public record Vector(Length length, int number) {
  public Vector {
    if (number < 0 || number > 31) {
      throw new IllegalArgumentException("there is no vector register " + number);
    }
  }

  /** Returns the same register at another length. */
  public Vector as(Length other) {
    return new Vector(other, number);
  }
}
