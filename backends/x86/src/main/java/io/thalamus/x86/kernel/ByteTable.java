// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;

/**
 * A run of bytes, each looked up in a table of 256.
 *
 * @param count bytes of the run
 */
public record ByteTable(int count) implements FunctionSource {
  /** Bytes of a table. */
  public static final int SIZE = 256;

  private static final int UNROLLED = 4;

  /** Returns the function: o0 is the source, o1 the result, o2 the table. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(true);
    int rounds = count / UNROLLED;
    if (rounds > 0) {
      a.mov(Gpr.R9, rounds);
      Label again = a.label();
      bytes(a, UNROLLED);
      a.emit(Alu.ADD, Gpr.RDX, UNROLLED);
      a.emit(Alu.ADD, Gpr.RCX, UNROLLED);
      a.countDown(Gpr.R9, again);
    }
    bytes(a, count % UNROLLED);
    Extent run = new Extent(count, 0);
    return emitter.end(run, run, new Extent(SIZE, 0), true);
  }

  private static void bytes(Assembler a, int number) {
    Gpr[] registers = {Gpr.RAX, Gpr.RSI, Gpr.R10, Gpr.R11};
    for (int i = 0; i < number; i++) {
      a.loadByte(registers[i], Address.at(Gpr.RDX, i));
    }
    for (int i = 0; i < number; i++) {
      Address entry = Address.at(Gpr.R8, registers[i], Address.Scale.ONE, 0);
      a.loadByte(registers[i], entry);
    }
    for (int i = 0; i < number; i++) {
      a.storeByte(Address.at(Gpr.RCX, i), registers[i]);
    }
  }
}
