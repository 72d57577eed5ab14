// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Shift;

/**
 * Indexes of rows, as where those rows begin. An index that is out of bounds becomes that of row 0,
 * and the first one is told.
 *
 * @param count of indexes
 * @param limit no index is as large as this
 * @param row bytes of a row
 */
public record CheckedIndexes(int count, int limit, int row) {
  /** Bytes of what is told, which is 0 where all indexes are within bounds. */
  public static final int STATUS = Long.BYTES;

  /** Returns the bytes of the result. */
  public long bytes() {
    return STATUS + (long) count * Long.BYTES;
  }

  /** Returns which index was out of bounds by what was told. */
  public static int index(long status) {
    return (int) (status >>> Integer.SIZE) - 1;
  }

  /**
   * Returns the function: o0 are the indexes, of 32 bits; o1 is what is told, and behind it the
   * places, of 64 bits. There is one block.
   */
  public Function emit(Emitter emitter) {
    return emitter.function(this, () -> write(emitter));
  }

  private Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    final int entry = a.position();
    emitter.arguments();
    a.mov(Gpr.RSI, 0);
    a.mov(Gpr.R8, 1);
    a.mov(Gpr.RDI, Gpr.RCX);
    Loops.repeat(a, Gpr.R9, count, () -> check(a));
    a.store(Address.at(Gpr.RDI, 0), Gpr.RSI);
    a.ret();
    return new Function(
        entry,
        // Loaded by eight bytes.
        new Extent(((long) count + 1) * Integer.BYTES, 0),
        new Extent(bytes(), 0),
        Extent.NONE,
        false);
  }

  /** The result has the number of the index, from 1 on, above its bits. */
  private void check(Assembler a) {
    Label good = new Label();
    a.load(Gpr.RAX, Address.at(Gpr.RDX, 0));
    a.emit(Shift.SHL, Gpr.RAX, Integer.SIZE);
    a.emit(Shift.SHR, Gpr.RAX, Integer.SIZE);
    a.emit(Alu.CMP, Gpr.RAX, limit);
    a.jump(Condition.BELOW, good);
    Label told = new Label();
    a.emit(Alu.CMP, Gpr.RSI, 0);
    a.jump(Condition.NOT_EQUAL, told);
    a.mov(Gpr.RSI, Gpr.R8);
    a.emit(Shift.SHL, Gpr.RSI, Integer.SIZE);
    a.emit(Alu.OR, Gpr.RSI, Gpr.RAX);
    a.bind(told);
    a.mov(Gpr.RAX, 0);
    a.bind(good);
    a.imul(Gpr.RAX, Gpr.RAX, row);
    a.store(Address.at(Gpr.RCX, STATUS), Gpr.RAX);
    a.emit(Alu.ADD, Gpr.RDX, Integer.BYTES);
    a.emit(Alu.ADD, Gpr.RCX, Long.BYTES);
    a.emit(Alu.ADD, Gpr.R8, 1);
  }
}
