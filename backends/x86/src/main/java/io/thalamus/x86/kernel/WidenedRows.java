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

/**
 * Rows of stored bytes written as words less the zero point, with zeros before and behind each.
 *
 * @param before words of 0
 * @param count bytes of a row of the source
 * @param after words of 0
 * @param zeroPoint of the source
 * @param isSigned whether the source is
 */
public record WidenedRows(int before, int count, int after, int zeroPoint, boolean isSigned)
    implements FunctionSource {
  private static final int AT_ONCE = 16;
  private static final Vector VALUE = new Vector(Length.YMM, 0);
  private static final Vector UPPER = new Vector(Length.YMM, 1);

  /** Returns the function: o0 is the source, o1 the result; a block is a row. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    a.emit(Alu.ADD, Gpr.RDX, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.RDI, Gpr.RCX);
    a.mov(Gpr.RSI, Gpr.RDX);
    a.mov(Gpr.RAX, 0);
    Label again = a.label();
    PaddedRows.fill(a, before * Short.BYTES);
    int whole = count / AT_ONCE;
    if (whole > 0) {
      a.mov(Gpr.RCX, whole);
      Label next = a.label();
      a.emit(widen(), VALUE, Address.at(Gpr.RSI, 0));
      a.emit(Binary.VPSUBW, VALUE, VALUE, Rescale.words(emitter, Length.YMM, zeroPoint));
      a.store(Move.VMOVUPS, Address.at(Gpr.RDI, 0), VALUE);
      a.emit(Alu.ADD, Gpr.RSI, AT_ONCE);
      a.emit(Alu.ADD, Gpr.RDI, AT_ONCE * Short.BYTES);
      a.countDown(Gpr.RCX, next);
    }
    int tail = count % AT_ONCE;
    if (tail > 0) {
      tail(emitter, tail);
    }
    PaddedRows.fill(a, after * Short.BYTES);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    long row = ((long) before + count + after) * Short.BYTES;
    return emitter.end(new Extent(count, count), new Extent(row, row));
  }

  private void tail(Emitter emitter, int tail) {
    Assembler a = emitter.assembler();
    Bytes.load(a, VALUE.as(Length.XMM), Gpr.RSI, 0, tail);
    a.emit(widen(), VALUE, VALUE.as(Length.XMM));
    a.emit(Binary.VPSUBW, VALUE, VALUE, Rescale.words(emitter, Length.YMM, zeroPoint));
    int bytes = tail * Short.BYTES;
    Bytes.store(a, VALUE.as(Length.XMM), Gpr.RDI, 0, Math.min(bytes, 16));
    if (bytes > 16) {
      a.vextracti128(UPPER.as(Length.XMM), VALUE, 1);
      Bytes.store(a, UPPER.as(Length.XMM), Gpr.RDI, 16, bytes - 16);
    }
    a.emit(Alu.ADD, Gpr.RSI, tail);
    a.emit(Alu.ADD, Gpr.RDI, bytes);
  }

  private Unary widen() {
    return isSigned ? Unary.VPMOVSXBW : Unary.VPMOVZXBW;
  }
}
