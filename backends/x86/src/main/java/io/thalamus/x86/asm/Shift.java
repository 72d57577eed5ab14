// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** Shifts of general-purpose registers, with the number that stands for it in encodings. */
public enum Shift {
  SHL(4),
  SHR(5),
  SAR(7);

  private final int number;

  Shift(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }
}
