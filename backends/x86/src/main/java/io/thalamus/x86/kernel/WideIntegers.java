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
 * Integers of 32 bits made ones of 64, or those of 64 bits looked at whether they are ones of 32.
 *
 * @param isCheck whether they are looked at
 * @param count elements
 */
public record WideIntegers(boolean isCheck, int count) implements FunctionSource {
  /**
   * Returns the function: o0 are the integers; o1 is the result, or the report: 0, or else the
   * number of the first one that is not of 32 bits, from 1 on, above 32 bits. There is one block.
   */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    if (isCheck) {
      check(a);
      return emitter.end(
          new Extent((long) count * Long.BYTES, 0), new Extent(CheckedIndexes.STATUS, 0));
    }
    Loops.repeat(
        a,
        Gpr.R9,
        count,
        () -> {
          a.load(Gpr.RAX, Address.at(Gpr.RDX, 0));
          narrow(a);
          a.store(Address.at(Gpr.RCX, 0), Gpr.RAX);
          a.emit(Alu.ADD, Gpr.RDX, Integer.BYTES);
          a.emit(Alu.ADD, Gpr.RCX, Long.BYTES);
        });
    return emitter.end(
        // Loaded by eight bytes.
        new Extent(((long) count + 1) * Integer.BYTES, 0),
        new Extent((long) count * Long.BYTES, 0));
  }

  private void check(Assembler a) {
    Label end = new Label();
    a.mov(Gpr.RSI, 1);
    Loops.repeat(
        a,
        Gpr.R9,
        count,
        () -> {
          a.load(Gpr.RAX, Address.at(Gpr.RDX, 0));
          a.mov(Gpr.RDI, Gpr.RAX);
          narrow(a);
          a.emit(Alu.CMP, Gpr.RAX, Gpr.RDI);
          a.jump(Condition.NOT_EQUAL, end);
          a.emit(Alu.ADD, Gpr.RDX, Long.BYTES);
          a.emit(Alu.ADD, Gpr.RSI, 1);
        });
    a.mov(Gpr.RSI, 0);
    a.bind(end);
    a.emit(Shift.SHL, Gpr.RSI, Integer.SIZE);
    a.store(Address.at(Gpr.RCX, 0), Gpr.RSI);
  }

  /** Keeps the lower half of a register, with its sign. */
  private static void narrow(Assembler a) {
    a.emit(Shift.SHL, Gpr.RAX, Integer.SIZE);
    a.emit(Shift.SAR, Gpr.RAX, Integer.SIZE);
  }
}
