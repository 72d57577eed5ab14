// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;

/**
 * A run of floats made stored bytes: divided by the scale, rounded to nearest, moved by the zero
 * point. NaN counts as 0.
 *
 * @param isEven whether ties go to the even one of two neighbours, else away from zero
 * @param count floats of the run
 * @param isSigned whether bytes are
 * @param isFound whether memory holds the scale and, behind it, the zero point, in 32 bits each
 * @param zeroPoint of the bytes otherwise
 * @param scale of the bytes otherwise
 */
public record FloatsToBytes(
    boolean isEven, int count, boolean isSigned, boolean isFound, int zeroPoint, float scale)
    implements FunctionSource {
  private static final int LANES = 8;

  /** Beyond, results are the largest or the least byte. */
  private static final float LARGEST = 4096;

  private static final int INFINITY = 0x7F800000;
  private static final Vector VALUE = new Vector(Length.YMM, 0);
  private static final Vector SIGN = new Vector(Length.YMM, 1);
  private static final Vector WHOLE = new Vector(Length.YMM, 2);
  private static final Vector OTHER = new Vector(Length.YMM, 3);

  /** Returns the run that becomes unsigned bytes by a scale and a zero point in memory. */
  public static FloatsToBytes found(int count) {
    return new FloatsToBytes(true, count, false, true, 0, 0);
  }

  /** Returns the function: o0 is the source, o1 the result, o2 has what is found. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = isFound ? emitter.begin(false) : emitter.begin();
    if (count >= LANES) {
      a.mov(Gpr.RAX, count / LANES);
      Label again = a.label();
      a.load(Move.VMOVUPS, VALUE, Address.at(Gpr.RDX, 0));
      convert(a, LANES);
      a.emit(Alu.ADD, Gpr.RDX, LANES * Float.BYTES);
      a.emit(Alu.ADD, Gpr.RCX, LANES);
      a.countDown(Gpr.RAX, again);
    }
    int tail = count % LANES;
    if (tail > 0) {
      a.load(Move.VMOVUPS, OTHER, BytesToFloats.first(a, tail));
      a.vmaskmovps(VALUE, OTHER, Address.at(Gpr.RDX, 0));
      convert(a, tail);
    }
    a.vzeroupper();
    Extent read = new Extent((long) count * Float.BYTES, 0);
    Extent written = new Extent(count, 0);
    return isFound
        ? emitter.end(read, written, new Extent(2 * Float.BYTES, 0), false)
        : emitter.end(read, written);
  }

  private void convert(Assembler a, int bytes) {
    loadNumber(a, 0, Float.floatToRawIntBits(scale));
    a.emit(Binary.VDIVPS, VALUE, VALUE, OTHER);
    if (isEven) {
      a.vcmpps(OTHER, VALUE, VALUE, Predicate.EQUAL);
      a.emit(Binary.VANDPS, VALUE, VALUE, OTHER);
      a.emit(Binary.VMINPS, VALUE, VALUE, BytesToFloats.ints(a, Float.floatToRawIntBits(LARGEST)));
      a.emit(Binary.VMAXPS, VALUE, VALUE, BytesToFloats.ints(a, Float.floatToRawIntBits(-LARGEST)));
      a.emit(Unary.VCVTPS2DQ, WHOLE, VALUE);
    } else {
      awayFromZero(a);
    }
    loadNumber(a, Float.BYTES, zeroPoint);
    a.emit(Binary.VPADDD, WHOLE, WHOLE, OTHER);
    a.vextracti128(OTHER.as(Length.XMM), WHOLE, 1);
    Vector words = WHOLE.as(Length.XMM);
    a.emit(Binary.VPACKSSDW, words, words, OTHER.as(Length.XMM));
    a.emit(isSigned ? Binary.VPACKSSWB : Binary.VPACKUSWB, words, words, words);
    Bytes.store(a, words, Gpr.RCX, 0, bytes);
  }

  private void loadNumber(Assembler a, int place, int otherwise) {
    if (isFound) {
      a.emit(Unary.VBROADCASTSS, OTHER, Address.at(Gpr.R8, place));
    } else {
      a.load(Move.VMOVUPS, OTHER, BytesToFloats.ints(a, otherwise));
    }
  }

  private static void awayFromZero(Assembler a) {
    a.emit(VectorShift.VPSRAD, SIGN, VALUE, Integer.SIZE - 1);
    a.emit(Binary.VANDPS, VALUE, VALUE, BytesToFloats.ints(a, Integer.MAX_VALUE));
    a.emit(Binary.VPCMPGTD, OTHER, VALUE, BytesToFloats.ints(a, INFINITY));
    a.emit(Binary.VANDNPS, VALUE, OTHER, VALUE);
    a.emit(Binary.VMINPS, VALUE, VALUE, BytesToFloats.ints(a, Float.floatToRawIntBits(LARGEST)));
    a.emit(Unary.VCVTTPS2DQ, WHOLE, VALUE);
    a.emit(Unary.VCVTDQ2PS, OTHER, WHOLE);
    a.emit(Binary.VSUBPS, VALUE, VALUE, OTHER);
    // The bits of floats that are not negative are in the order of the floats.
    int belowHalf = Float.floatToRawIntBits(0.5f) - 1;
    a.emit(Binary.VPCMPGTD, VALUE, VALUE, BytesToFloats.ints(a, belowHalf));
    a.emit(Binary.VPSUBD, WHOLE, WHOLE, VALUE);
    a.emit(Binary.VPXOR, WHOLE, WHOLE, SIGN);
    a.emit(Binary.VPSUBD, WHOLE, WHOLE, SIGN);
  }
}
