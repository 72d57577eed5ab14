// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** Arithmetic on general-purpose registers, with the number that stands for it in encodings. */
public enum Alu {
  ADD(0),
  OR(1),
  AND(4),
  SUB(5),
  XOR(6),
  CMP(7);

  private final int number;

  Alu(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }
}
