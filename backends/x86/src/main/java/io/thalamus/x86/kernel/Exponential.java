// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;

/**
 * {@code e^x} to two units in the last place, by the polynomial of Cephes' expf, between -87 and
 * 88.7; what lies beyond gives the value at the bound. NaN stays NaN. Stateless.
 */
final class Exponential {
  /** A little below the logarithm of the largest float. */
  static final float MOST = 88.7228f;

  /** The logarithm of the least float that has all its bits. */
  static final float LEAST = -87.3365478515625f;

  private static final float LOG2_E = 1.44269504088896341f;
  private static final float LN2_HIGH = 0.693359375f;
  private static final float LN2_LOW = -2.12194440e-4f;

  /** Added and subtracted again, it rounds to the nearest integer. */
  private static final float ROUNDER = 12582912f;

  private static final float[] POLYNOMIAL = {
    1.9875691500e-4f,
    1.3981999507e-3f,
    8.3334519073e-3f,
    4.1665795894e-2f,
    1.6666665459e-1f,
    5.0000001201e-1f
  };

  private static final int EXPONENT = 23;

  private Exponential() {}

  /** Replaces x by its exponential; changes two other registers. */
  static void emit(Emitter emitter, Vector x, Vector multiple, Vector sum) {
    Assembler a = emitter.assembler();
    a.load(Move.VMOVUPS, sum, emitter.all(MOST));
    a.emit(Binary.VMINPS, x, sum, x);
    a.load(Move.VMOVUPS, sum, emitter.all(LEAST));
    a.emit(Binary.VMAXPS, x, sum, x);
    a.emit(Binary.VMULPS, multiple, x, emitter.all(LOG2_E));
    a.emit(Binary.VADDPS, multiple, multiple, emitter.all(ROUNDER));
    a.emit(Binary.VSUBPS, multiple, multiple, emitter.all(ROUNDER));
    a.emit(Binary.VFNMADD231PS, x, multiple, emitter.all(LN2_HIGH));
    a.emit(Binary.VFNMADD231PS, x, multiple, emitter.all(LN2_LOW));
    a.load(Move.VMOVUPS, sum, emitter.all(POLYNOMIAL[0]));
    for (int i = 1; i < POLYNOMIAL.length; i++) {
      a.emit(Binary.VFMADD213PS, sum, x, emitter.all(POLYNOMIAL[i]));
    }
    a.emit(Binary.VMULPS, sum, sum, x);
    a.emit(Binary.VFMADD213PS, sum, x, x);
    a.emit(Binary.VADDPS, sum, sum, emitter.all(1));
    a.emit(Unary.VCVTPS2DQ, multiple, multiple);
    a.emit(VectorShift.VPSLLD, multiple, multiple, EXPONENT);
    a.emit(Binary.VPADDD, x, sum, multiple);
  }
}
