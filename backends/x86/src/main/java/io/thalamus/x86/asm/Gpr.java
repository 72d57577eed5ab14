// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** The general-purpose registers, of 64 bits, in the order of their numbers. */
public enum Gpr {
  RAX,
  RCX,
  RDX,
  RBX,
  RSP,
  RBP,
  RSI,
  RDI,
  R8,
  R9,
  R10,
  R11,
  R12,
  R13,
  R14,
  R15;

  int number() {
    return ordinal();
  }
}
