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
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.Arrays;

/**
 * A run of stored bytes made floats: less the zero point, times the scale.
 *
 * @param count bytes of the run
 * @param isSigned whether bytes are
 * @param zeroPoint of the bytes
 * @param scale of the bytes
 */
public record BytesToFloats(int count, boolean isSigned, int zeroPoint, float scale)
    implements FunctionSource {
  private static final int LANES = 8;
  private static final Vector VALUE = new Vector(Length.YMM, 0);
  private static final Vector MASK = new Vector(Length.YMM, 1);

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    Unary widen = isSigned ? Unary.VPMOVSXBD : Unary.VPMOVZXBD;
    if (count >= LANES) {
      a.mov(Gpr.RAX, count / LANES);
      Label again = a.label();
      a.emit(widen, VALUE, Address.at(Gpr.RDX, 0));
      convert(a);
      a.store(Move.VMOVUPS, Address.at(Gpr.RCX, 0), VALUE);
      a.emit(Alu.ADD, Gpr.RDX, LANES);
      a.emit(Alu.ADD, Gpr.RCX, LANES * Float.BYTES);
      a.countDown(Gpr.RAX, again);
    }
    int tail = count % LANES;
    if (tail > 0) {
      Bytes.load(a, VALUE.as(Length.XMM), Gpr.RDX, 0, tail);
      a.emit(widen, VALUE, VALUE.as(Length.XMM));
      convert(a);
      a.load(Move.VMOVUPS, MASK, first(a, tail));
      a.vmaskmovps(Address.at(Gpr.RCX, 0), MASK, VALUE);
    }
    a.vzeroupper();
    return emitter.end(new Extent(count, 0), new Extent((long) count * Float.BYTES, 0));
  }

  private void convert(Assembler a) {
    a.emit(Binary.VPSUBD, VALUE, VALUE, ints(a, zeroPoint));
    a.emit(Unary.VCVTDQ2PS, VALUE, VALUE);
    a.emit(Binary.VMULPS, VALUE, VALUE, ints(a, Float.floatToRawIntBits(scale)));
  }

  /** A vector whose first elements are -1. */
  static Address first(Assembler a, int elements) {
    int[] words = new int[LANES];
    Arrays.fill(words, 0, elements, -1);
    return Address.at(a.constant(words));
  }

  /** A vector of equal elements. */
  static Address ints(Assembler a, int value) {
    int[] words = new int[LANES];
    Arrays.fill(words, value);
    return Address.at(a.constant(words));
  }
}
