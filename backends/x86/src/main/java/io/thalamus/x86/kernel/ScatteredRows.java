// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Vector;
import java.util.List;

/**
 * Rows joined, one after the other, with those where {@link CheckedIndexes} says.
 *
 * @param table bytes of all rows
 * @param row bytes of one
 * @param pair the function of a new element and the one that is there; {@link Pair#FIRST} takes
 *     elements of any size, the others of 32 bits
 */
public record ScatteredRows(long table, int row, Pair pair) implements FunctionSource {
  private static final int NEW = 0;
  private static final int FOUND = 1;
  private static final int RESULT = 2;
  private static final int SCRATCH = 3;

  /** Returns the function: o0 are the new rows, o1 the table, o2 the places; a block is a row. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    Vector tail = emitter.vector(SCRATCH + ElementFunction.SCRATCH);
    if (pair != Pair.FIRST) {
      emitter.setTail(row / Float.BYTES % emitter.lanes(), tail);
    }
    Label again = a.label();
    a.load(Gpr.RSI, Address.at(Gpr.R8, 0));
    a.emit(Alu.ADD, Gpr.RSI, Gpr.RCX);
    a.mov(Gpr.RDI, Gpr.RDX);
    if (pair == Pair.FIRST) {
      Strided.dense(a, emitter.vector(NEW), row);
    } else {
      Loops.row(
          emitter, row / Float.BYTES, isTail -> join(emitter, isTail, tail), Gpr.RDI, Gpr.RSI);
    }
    a.emit(Alu.ADD, Gpr.R8, Long.BYTES);
    a.emit(Alu.ADD, Gpr.RDX, row);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    return emitter.end(
        new Extent(row, row), new Extent(table, 0), new Extent(Long.BYTES, Long.BYTES), false);
  }

  private void join(Emitter emitter, boolean isTail, Vector tail) {
    Vector given = emitter.vector(NEW);
    Vector found = emitter.vector(FOUND);
    Vector result = emitter.vector(RESULT);
    emitter.load(isTail, given, tail, Address.at(Gpr.RDI, 0));
    emitter.load(isTail, found, tail, Address.at(Gpr.RSI, 0));
    new ElementFunction.Paired(pair, FusedActivation.NONE)
        .emit(emitter, result, List.of(found, given), SCRATCH);
    emitter.store(isTail, Address.at(Gpr.RSI, 0), tail, result);
  }
}
