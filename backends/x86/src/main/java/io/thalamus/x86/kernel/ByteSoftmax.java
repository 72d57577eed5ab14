// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Address.Scale;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Shift;

/**
 * Lines of stored scores made into probabilities in fixed point. The constants are two tables by
 * the difference from the largest score, of 64 bits each: exponentials with no integer bits, and
 * the same with 12.
 *
 * @param count scores of a line
 * @param isSigned whether bytes are
 */
public record ByteSoftmax(int count, boolean isSigned) implements FunctionSource {
  /** Scores of a line, whose sum has 12 integer bits. */
  public static final int MOST = 4095;

  /** Bytes of both tables. */
  public static final int TABLES = 2 * 256 * Long.BYTES;

  /** 48/17 and -32/17 with 2 integer bits: the linear start of Newton's method. */
  private static final int START = 1_515_870_810;

  private static final int SLOPE = -1_010_580_540;
  private static final int STEPS = 3;

  /** Returns the function: o0 is the source, o1 the result, o2 the tables; a block is a line. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    a.emit(Alu.ADD, Gpr.RDX, Gpr.RDI);
    a.mov(Gpr.R11, Gpr.RCX);
    a.emit(Alu.ADD, Gpr.R11, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.R8, Gpr.RSI);
    Label again = a.label();
    a.mov(Gpr.RAX, 0);
    each(
        a,
        () -> {
          Label isLess = new Label();
          load(a, Gpr.RSI);
          a.emit(Alu.CMP, Gpr.RSI, Gpr.RAX);
          a.jump(Condition.BELOW_OR_EQUAL, isLess);
          a.mov(Gpr.RAX, Gpr.RSI);
          a.bind(isLess);
        });
    a.mov(Gpr.RDI, 0);
    each(
        a,
        () -> {
          difference(a);
          a.emit(Alu.ADD, Gpr.RDI, Address.at(Gpr.R8, Gpr.RSI, Scale.EIGHT, TABLES / 2));
        });
    reciprocal(a);
    each(
        a,
        () -> {
          difference(a);
          a.load(Gpr.RSI, Address.at(Gpr.R8, Gpr.RSI, Scale.EIGHT, 0));
          a.imul(Gpr.RSI, Gpr.RDI);
          a.emit(Alu.ADD, Gpr.RSI, 1 << 30);
          a.emit(Shift.SAR, Gpr.RSI, 31);
          // All but one bit, then the last, rounded.
          a.emit(Shift.SAR, Gpr.RSI);
          a.emit(Alu.ADD, Gpr.RSI, 1);
          a.emit(Shift.SAR, Gpr.RSI, 1);
          Label fits = new Label();
          a.emit(Alu.CMP, Gpr.RSI, 255);
          a.jump(Condition.BELOW_OR_EQUAL, fits);
          a.mov(Gpr.RSI, 255);
          a.bind(fits);
          if (isSigned) {
            a.emit(Alu.XOR, Gpr.RSI, 128);
          }
          a.storeByte(Address.at(Gpr.R11, Gpr.R10, Scale.ONE, 0), Gpr.RSI);
        });
    a.emit(Alu.ADD, Gpr.RDX, count);
    a.emit(Alu.ADD, Gpr.R11, count);
    a.countDown(Gpr.R9, again);
    Extent lines = new Extent(count, count);
    return emitter.end(lines, lines, new Extent(TABLES, 0), true);
  }

  private void each(Assembler a, Runnable body) {
    a.mov(Gpr.R10, 0);
    Label next = a.label();
    body.run();
    a.emit(Alu.ADD, Gpr.R10, 1);
    a.emit(Alu.CMP, Gpr.R10, count);
    a.jump(Condition.NOT_EQUAL, next);
  }

  /** Loads a score, counted from the least. */
  private void load(Assembler a, Gpr to) {
    a.loadByte(to, Address.at(Gpr.RDX, Gpr.R10, Scale.ONE, 0));
    if (isSigned) {
      a.emit(Alu.XOR, to, 128);
    }
  }

  /** Sets rsi to how far a score is below the largest. */
  private void difference(Assembler a) {
    load(a, Gpr.RSI);
    a.emit(Alu.SUB, Gpr.RSI, Gpr.RAX);
    a.imul(Gpr.RSI, Gpr.RSI, -1);
  }

  /**
   * Turns the sum in rdi into its reciprocal, shifted so that it begins with its highest bit, and
   * rcx into the bits that a product has too many, less 1.
   */
  private static void reciprocal(Assembler a) {
    // With rcx the number of the highest bit, zeros before it are 31 - rcx.
    a.bsr(Gpr.RSI, Gpr.RDI);
    a.mov(Gpr.RCX, 31);
    a.emit(Alu.SUB, Gpr.RCX, Gpr.RSI);
    a.emit(Shift.SHL, Gpr.RDI);
    a.emit(Shift.SHR, Gpr.RDI, 1);
    // x = start + half * slope
    a.mov(Gpr.RSI, Gpr.RDI);
    a.push(Gpr.RAX);
    a.mov(Gpr.RAX, (long) SLOPE);
    multiply(a, Gpr.RSI, Gpr.RAX);
    a.emit(Alu.ADD, Gpr.RSI, START);
    for (int step = 0; step < STEPS; step++) {
      // x += x * (1 - half * x), with 2 integer bits each
      a.mov(Gpr.RAX, Gpr.RDI);
      multiply(a, Gpr.RAX, Gpr.RSI);
      a.mov(Gpr.R10, 1 << 29);
      a.emit(Alu.SUB, Gpr.R10, Gpr.RAX);
      multiply(a, Gpr.R10, Gpr.RSI);
      a.emit(Shift.SHL, Gpr.R10, 2);
      a.emit(Alu.ADD, Gpr.RSI, Gpr.R10);
    }
    a.pop(Gpr.RAX);
    a.emit(Shift.SHL, Gpr.RSI, 1);
    Label fits = new Label();
    a.emit(Alu.CMP, Gpr.RSI, Integer.MAX_VALUE);
    a.jump(Condition.LESS_OR_EQUAL, fits);
    a.mov(Gpr.RSI, Integer.MAX_VALUE);
    a.bind(fits);
    a.mov(Gpr.RDI, Gpr.RSI);
    // 12 + 31 - 8 less the zeros, less 1.
    a.mov(Gpr.RSI, 34);
    a.emit(Alu.SUB, Gpr.RSI, Gpr.RCX);
    a.mov(Gpr.RCX, Gpr.RSI);
  }

  /** Multiplies numbers of 31 fraction bits, rounded to nearest. */
  private static void multiply(Assembler a, Gpr to, Gpr other) {
    a.imul(to, other);
    a.emit(Alu.ADD, to, 1 << 30);
    a.emit(Shift.SAR, to, 31);
  }
}
