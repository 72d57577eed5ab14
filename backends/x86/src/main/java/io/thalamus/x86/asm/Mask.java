// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/**
 * A mask register of AVX-512 that can select elements. Immutable.
 *
 * @param number 1 to 7; 0 stands for all elements in the encoding, and selects none
 */
public record Mask(int number) {
  public Mask {
    if (number < 1 || number > 7) {
      throw new IllegalArgumentException("register k" + number + " is no write mask");
    }
  }
}
