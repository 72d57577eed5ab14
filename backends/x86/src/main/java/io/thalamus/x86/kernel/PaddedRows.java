// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;

/**
 * Rows of bytes copied with equal bytes before and behind each. With no bytes of its own it writes
 * those alone.
 *
 * @param before bytes of padding
 * @param bytes of a row of the source
 * @param after bytes of padding
 * @param value of padding
 */
public record PaddedRows(int before, int bytes, int after, byte value) implements FunctionSource {
  /** Rows between zeros. */
  public PaddedRows(int before, int bytes, int after) {
    this(before, bytes, after, (byte) 0);
  }

  /** Returns the function: o0 is the source, o1 the result; a block is a row. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    a.emit(Alu.ADD, Gpr.RDX, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.RDI, Gpr.RCX);
    a.mov(Gpr.RSI, Gpr.RDX);
    a.mov(Gpr.RAX, Byte.toUnsignedInt(value));
    Label again = a.label();
    fill(a, before);
    if (bytes > 0) {
      a.mov(Gpr.RCX, bytes);
      a.repMovsb();
    }
    fill(a, after);
    a.countDown(Gpr.R9, again);
    long row = (long) before + bytes + after;
    return emitter.end(new Extent(bytes, bytes), new Extent(row, row));
  }

  /** Writes al some times to where rdi points, and moves that; changes rcx. */
  static void fill(Assembler a, int count) {
    if (count > 0) {
      a.mov(Gpr.RCX, count);
      a.repStosb();
    }
  }
}
