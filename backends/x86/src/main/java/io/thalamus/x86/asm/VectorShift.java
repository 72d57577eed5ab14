// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** Shifts of all elements of a vector by the same number of bits: AVX2 or AVX-512. */
public enum VectorShift {
  VPSRAD(0x72, 4),
  VPSRLD(0x72, 2),
  VPSLLD(0x72, 6),
  VPSRLQ(0x73, 2),
  VPSLLQ(0x73, 6);

  private final Encoding encoding;
  private final int digit;

  VectorShift(int opcode, int digit) {
    Encoding narrow = Encoding.of(1, 1, opcode);
    encoding = opcode == 0x73 ? narrow.wide() : narrow;
    this.digit = digit;
  }

  Encoding encoding() {
    return encoding;
  }

  /** Returns the digit that stands in the place of a register. */
  int digit() {
    return digit;
  }
}
