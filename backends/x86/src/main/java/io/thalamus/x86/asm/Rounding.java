// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/** The ways to make a whole number, in the order of their encoding. */
public enum Rounding {
  /** Ties go to the even one. */
  NEAREST,
  DOWN,
  UP,
  TOWARDS_ZERO;

  int number() {
    return ordinal();
  }
}
