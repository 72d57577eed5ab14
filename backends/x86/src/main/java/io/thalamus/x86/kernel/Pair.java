// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Predicate;
import java.util.Optional;

/** Functions of two elements of 32 bits. If floats are NaN, so are results that are floats. */
public enum Pair {
  ADD(Binary.VADDPS),
  SUB(Binary.VSUBPS),
  MUL(Binary.VMULPS),
  DIV(Binary.VDIVPS),
  MAXIMUM(Binary.VMAXPS),
  MINIMUM(Binary.VMINPS),
  SQUARED_DIFFERENCE(Binary.VSUBPS),
  /** The whole number below the quotient. */
  FLOOR_DIV(Binary.VDIVPS),
  /** The first, times the second where it is negative. */
  PRELU(Binary.VMULPS),
  POW,
  /** The first alone. */
  FIRST,
  INT_ADD(Binary.VPADDD),
  INT_SUB(Binary.VPSUBD),
  INT_MUL(Binary.VPMULLD),
  INT_MAXIMUM(Binary.VPMAXSD),
  INT_MINIMUM(Binary.VPMINSD),
  INT_SQUARED_DIFFERENCE(Binary.VPSUBD),
  /** The whole number below the quotient; 0 for a division by 0. */
  INT_FLOOR_DIV,
  INT_XOR(Binary.VXORPS),
  /** The first, shifted to the right by 0 to 31 bits: by the number nearest to the second. */
  INT_RIGHT_SHIFT,
  EQUAL(Predicate.EQUAL),
  NOT_EQUAL(Predicate.NOT_EQUAL),
  LESS(Predicate.LESS),
  LESS_EQUAL(Predicate.LESS_OR_EQUAL),
  GREATER(Predicate.GREATER),
  GREATER_EQUAL(Predicate.GREATER_OR_EQUAL),
  INT_EQUAL(Binary.VPCMPEQD, false, false),
  INT_NOT_EQUAL(Binary.VPCMPEQD, false, true),
  INT_GREATER(Binary.VPCMPGTD, false, false),
  INT_LESS_EQUAL(Binary.VPCMPGTD, false, true),
  INT_LESS(Binary.VPCMPGTD, true, false),
  INT_GREATER_EQUAL(Binary.VPCMPGTD, true, true);

  private final Optional<Binary> instruction;
  private final Optional<Predicate> predicate;
  private final boolean isTruth;
  private final boolean isSwapped;
  private final boolean isNegated;

  Pair() {
    this(Optional.empty(), Optional.empty(), false, false, false);
  }

  Pair(Binary instruction) {
    this(Optional.of(instruction), Optional.empty(), false, false, false);
  }

  Pair(Predicate predicate) {
    this(Optional.empty(), Optional.of(predicate), true, false, false);
  }

  Pair(Binary instruction, boolean isSwapped, boolean isNegated) {
    this(Optional.of(instruction), Optional.empty(), true, isSwapped, isNegated);
  }

  Pair(
      Optional<Binary> instruction,
      Optional<Predicate> predicate,
      boolean isTruth,
      boolean isSwapped,
      boolean isNegated) {
    this.instruction = instruction;
    this.predicate = predicate;
    this.isTruth = isTruth;
    this.isSwapped = isSwapped;
    this.isNegated = isNegated;
  }

  /** Returns whether results are bytes of 0 or 1. */
  public boolean isTruth() {
    return isTruth;
  }

  Optional<Binary> instruction() {
    return instruction;
  }

  Optional<Predicate> predicate() {
    return predicate;
  }

  /** Returns true if the instruction compares the second with the first. */
  boolean isSwapped() {
    return isSwapped;
  }

  /** Returns true if the result is the opposite of the instruction's. */
  boolean isNegated() {
    return isNegated;
  }
}
