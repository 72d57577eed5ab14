// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;

/**
 * The bytes of two tensors, each read on or repeated, side by side: what {@link WordTable} looks
 * up. A block is a run.
 *
 * @param count bytes of the run of either
 * @param isFirstRepeated whether the first stays at one byte
 * @param isSecondRepeated whether the second does
 * @param firstStep bytes from one run of the first to the next
 * @param secondStep the same of the second
 */
public record JoinedBytes(
    int count, boolean isFirstRepeated, boolean isSecondRepeated, int firstStep, int secondStep)
    implements FunctionSource {
  /** Returns the function: o0 is the first, o1 the result, o2 the second, in memory. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    Label again = a.label();
    a.mov(Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.R8);
    Loops.repeat(
        a,
        Gpr.RAX,
        count,
        () -> {
          a.loadByte(Gpr.R10, Address.at(Gpr.RDI, 0));
          a.loadByte(Gpr.R11, Address.at(Gpr.RSI, 0));
          a.storeByte(Address.at(Gpr.RCX, 0), Gpr.R10);
          a.storeByte(Address.at(Gpr.RCX, 1), Gpr.R11);
          if (!isFirstRepeated) {
            a.emit(Alu.ADD, Gpr.RDI, 1);
          }
          if (!isSecondRepeated) {
            a.emit(Alu.ADD, Gpr.RSI, 1);
          }
          a.emit(Alu.ADD, Gpr.RCX, Short.BYTES);
        });
    a.emit(Alu.ADD, Gpr.RDX, firstStep);
    a.emit(Alu.ADD, Gpr.R8, secondStep);
    a.countDown(Gpr.R9, again);
    long joined = (long) count * Short.BYTES;
    return emitter.end(
        new Extent(isFirstRepeated ? 1 : count, firstStep),
        new Extent(joined, joined),
        new Extent(isSecondRepeated ? 1 : count, secondStep),
        false);
  }
}
