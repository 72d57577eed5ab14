// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.extension.DynamicQuantization;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * The scale and, behind it, the zero point of floats between two numbers, in 32 bits each, as
 * {@link DynamicQuantization.Found} has them.
 */
public record FoundScale() implements FunctionSource {
  private static final Vector ZERO = new Vector(Length.XMM, 0);
  private static final Vector MOST = new Vector(Length.XMM, 1);
  private static final Vector LEAST = new Vector(Length.XMM, 2);
  private static final Vector SCALE = new Vector(Length.XMM, 3);
  private static final Vector IS_PROPER = new Vector(Length.XMM, 4);

  /** Returns the function: o0 is the largest number, o1 the result, o2 the least number. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    a.emit(Binary.VXORPS, ZERO, ZERO, ZERO);
    a.emit(Unary.VBROADCASTSS, MOST, Address.at(Gpr.RDX, 0));
    a.emit(Binary.VMAXPS, MOST, MOST, ZERO);
    a.emit(Unary.VBROADCASTSS, LEAST, Address.at(Gpr.R8, 0));
    a.emit(Binary.VMINPS, LEAST, LEAST, ZERO);
    a.emit(Binary.VSUBPS, SCALE, MOST, LEAST);
    a.emit(Binary.VDIVPS, SCALE, SCALE, emitter.all(DynamicQuantization.STEPS));
    a.vcmpps(IS_PROPER, ZERO, SCALE, Predicate.LESS);
    a.emit(Binary.VANDPS, SCALE, SCALE, IS_PROPER);
    a.emit(Binary.VANDNPS, IS_PROPER, IS_PROPER, emitter.all(1));
    a.emit(Binary.VORPS, SCALE, SCALE, IS_PROPER);
    a.vmovss(Address.at(Gpr.RCX, 0), SCALE);
    Vector point = LEAST;
    a.emit(Binary.VSUBPS, point, ZERO, LEAST);
    a.emit(Binary.VDIVPS, point, point, SCALE);
    a.emit(Unary.VCVTPS2DQ, point, point);
    a.emit(Binary.VPMAXSD, point, point, ZERO);
    a.emit(
        Binary.VPMINSD, point, point, emitter.all(Float.intBitsToFloat(DynamicQuantization.STEPS)));
    a.vmovss(Address.at(Gpr.RCX, Float.BYTES), point);
    return emitter.end(
        new Extent(Float.BYTES, 0),
        new Extent(2 * Float.BYTES, 0),
        new Extent(Float.BYTES, 0),
        false);
  }
}
