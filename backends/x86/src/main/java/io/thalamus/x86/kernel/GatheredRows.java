// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;

/**
 * Rows copied from where {@link CheckedIndexes} says.
 *
 * @param table bytes of all rows
 * @param row bytes of one
 */
public record GatheredRows(long table, int row) implements FunctionSource {
  private static final int X = 0;

  /** Returns the function: o0 is the table, o1 the result, o2 the places; a block is a row. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    Label again = a.label();
    a.load(Gpr.RDI, Address.at(Gpr.R8, 0));
    a.emit(Alu.ADD, Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.RCX);
    Strided.dense(a, emitter.vector(X), row);
    a.emit(Alu.ADD, Gpr.R8, Long.BYTES);
    a.emit(Alu.ADD, Gpr.RCX, row);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    return emitter.end(
        new Extent(table, 0), new Extent(row, row), new Extent(Long.BYTES, Long.BYTES), false);
  }
}
