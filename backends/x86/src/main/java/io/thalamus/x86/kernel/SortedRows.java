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
 * The largest integers of 32 bits of each row, the largest first; a block is a row. Each result has
 * 64 bits: the place in the row, and above it the integer.
 *
 * @param count integers of a row
 * @param top how many of them are chosen
 * @param isLaterFirst whether of equal ones the later comes first; else places are counted from the
 *     end of the row, where the last one is 0
 */
public record SortedRows(int count, int top, boolean isLaterFirst) implements FunctionSource {
  /** Returns the bytes of the results of a row, behind which one more is written. */
  public long bytes() {
    return (long) top * Long.BYTES;
  }

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    Label nextRow = a.label();
    a.mov(Gpr.R10, isLaterFirst ? 0 : count - 1);
    a.mov(Gpr.RSI, Gpr.RCX);
    Label next = a.label();
    one(a);
    a.emit(Alu.ADD, Gpr.RDX, Integer.BYTES);
    a.emit(Alu.ADD, Gpr.R10, isLaterFirst ? 1 : -1);
    a.emit(Alu.CMP, Gpr.R10, isLaterFirst ? count : -1);
    a.jump(Condition.NOT_EQUAL, next);
    a.emit(Alu.ADD, Gpr.RCX, top * Long.BYTES);
    a.countDown(Gpr.R9, nextRow);
    return emitter.end(
        // Loaded by eight bytes.
        new Extent(((long) count + 1) * Integer.BYTES, (long) count * Integer.BYTES),
        new Extent(bytes() + Long.BYTES, bytes()));
  }

  /**
   * Moves a number into the top of those before it, which end at rsi: what falls out of it is
   * written behind, where nobody reads it.
   */
  private void one(Assembler a) {
    a.load(Gpr.RAX, Address.at(Gpr.RDX, 0));
    a.emit(Shift.SHL, Gpr.RAX, Integer.SIZE);
    a.emit(Alu.ADD, Gpr.RAX, Gpr.R10);
    a.mov(Gpr.R11, Gpr.RSI);
    Label found = new Label();
    Label up = a.label();
    a.emit(Alu.CMP, Gpr.R11, Gpr.RCX);
    a.jump(Condition.EQUAL, found);
    a.load(Gpr.R8, Address.at(Gpr.R11, -Long.BYTES));
    a.emit(Alu.CMP, Gpr.R8, Gpr.RAX);
    a.jump(Condition.GREATER, found);
    a.store(Address.at(Gpr.R11, 0), Gpr.R8);
    a.emit(Alu.SUB, Gpr.R11, Long.BYTES);
    a.jump(up);
    a.bind(found);
    a.store(Address.at(Gpr.R11, 0), Gpr.RAX);
    Label full = new Label();
    a.lea(Gpr.RAX, Address.at(Gpr.RCX, top * Long.BYTES));
    a.emit(Alu.CMP, Gpr.RSI, Gpr.RAX);
    a.jump(Condition.EQUAL, full);
    a.emit(Alu.ADD, Gpr.RSI, Long.BYTES);
    a.bind(full);
  }
}
