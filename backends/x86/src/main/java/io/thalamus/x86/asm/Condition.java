// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** The conditions of jumps, in the order of their encoding. Above and below are unsigned. */
public enum Condition {
  OVERFLOW,
  NO_OVERFLOW,
  BELOW,
  ABOVE_OR_EQUAL,
  EQUAL,
  NOT_EQUAL,
  BELOW_OR_EQUAL,
  ABOVE,
  NEGATIVE,
  NOT_NEGATIVE,
  PARITY_EVEN,
  PARITY_ODD,
  LESS,
  GREATER_OR_EQUAL,
  LESS_OR_EQUAL,
  GREATER
}
