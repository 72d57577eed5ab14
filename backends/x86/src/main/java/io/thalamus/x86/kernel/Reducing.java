// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Vector;
import java.util.Optional;

/** The ways to make one float, or one integer of 32 bits, of many. */
public enum Reducing {
  SUM(Binary.VADDPS, 0),
  MEAN(Binary.VADDPS, 0),
  MAXIMUM(Binary.VMAXPS, Float.NEGATIVE_INFINITY),
  /** The largest of those that are no NaN. */
  LARGEST_NUMBER(Binary.VMAXPS, Float.NEGATIVE_INFINITY),
  MINIMUM(Binary.VMINPS, Float.POSITIVE_INFINITY),
  INT_MAXIMUM(Binary.VPMAXSD, Float.intBitsToFloat(Integer.MIN_VALUE)),
  INT_MINIMUM(Binary.VPMINSD, Float.intBitsToFloat(Integer.MAX_VALUE)),
  /** 0 where one of them is, also where another is infinite or NaN. */
  PRODUCT(Binary.VMULPS, 1);

  private final Binary instruction;
  private final float start;

  Reducing(Binary instruction, float start) {
    this.instruction = instruction;
    this.start = start;
  }

  /** Returns the instruction that combines a result with another, if it is but one. */
  Optional<Binary> single() {
    return this == PRODUCT || this == LARGEST_NUMBER ? Optional.empty() : Optional.of(instruction);
  }

  /** The result of none; of integers its bits. */
  float start() {
    return start;
  }

  /**
   * Combines a vector with what has been combined.
   *
   * @param other may change
   * @param zero a register that may change
   * @param scratch another one
   */
  void combine(Emitter emitter, Vector result, Vector other, Vector zero, Vector scratch) {
    Assembler a = emitter.assembler();
    if (this == LARGEST_NUMBER) {
      a.emit(instruction, result, other, result);
      return;
    }
    if (this != PRODUCT) {
      a.emit(instruction, result, result, other);
      return;
    }
    Vector product = scratch;
    a.emit(Binary.VMULPS, product, result, other);
    a.emit(Binary.VXORPS, zero, zero, zero);
    // Either comparison puts a zero: its own operand, which is one. The other sign is no matter.
    keepZeros(emitter, product, other, zero);
    keepZeros(emitter, product, result, zero);
    a.emit(Move.VMOVUPS, result, product);
  }

  private static void keepZeros(Emitter emitter, Vector product, Vector factor, Vector zero) {
    emitter.replace(Predicate.EQUAL, factor, zero, product, zero, factor);
  }
}
