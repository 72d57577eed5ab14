// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/**
 * The size of the memory that an instruction on vectors accesses: the unit of short displacements
 * in EVEX.
 */
enum Tuple {
  FULL,
  HALF,
  QUARTER,
  /** One element of 32 bits. */
  SINGLE,
  /** One element of 8 bits. */
  BYTE;

  int bytes(Length length) {
    return switch (this) {
      case FULL -> length.bytes();
      case HALF -> length.bytes() / 2;
      case QUARTER -> length.bytes() / 4;
      case SINGLE -> 4;
      case BYTE -> 1;
    };
  }
}
