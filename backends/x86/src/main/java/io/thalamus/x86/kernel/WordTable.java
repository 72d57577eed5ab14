// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Shift;

/**
 * Bytes or words looked up in a table by unsigned numbers of 16 bits.
 *
 * @param size bytes of an entry
 * @param count results
 */
public record WordTable(int size, int count) implements FunctionSource {
  /** The entries of a table. */
  public static final int ENTRIES = 1 << Short.SIZE;

  private static final int AT_ONCE = Long.BYTES / Short.BYTES;

  /** Returns the function: o0 is the numbers, o1 the result, o2 the table. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(true);
    Loops.repeat(
        a,
        Gpr.R9,
        count / AT_ONCE,
        () -> {
          a.load(Gpr.RAX, Address.at(Gpr.RDX, 0));
          for (int i = 0; i < AT_ONCE; i++) {
            a.mov(Gpr.R10, Gpr.RAX);
            if (i < AT_ONCE - 1) {
              a.emit(Alu.AND, Gpr.R10, ENTRIES - 1);
              a.emit(Shift.SHR, Gpr.RAX, Short.SIZE);
            }
            lookUp(a, i);
          }
          a.emit(Alu.ADD, Gpr.RDX, Long.BYTES);
          a.emit(Alu.ADD, Gpr.RCX, AT_ONCE * size);
        });
    for (int i = 0; i < count % AT_ONCE; i++) {
      a.loadByte(Gpr.R10, Address.at(Gpr.RDX, i * Short.BYTES + 1));
      a.emit(Shift.SHL, Gpr.R10, Byte.SIZE);
      a.loadByte(Gpr.R11, Address.at(Gpr.RDX, i * Short.BYTES));
      a.emit(Alu.ADD, Gpr.R10, Gpr.R11);
      lookUp(a, i);
    }
    return emitter.end(
        new Extent((long) count * Short.BYTES, 0),
        new Extent((long) count * size, 0),
        new Extent((long) ENTRIES * size, 0),
        true);
  }

  private void lookUp(Assembler a, int result) {
    Address.Scale scale = size == 1 ? Address.Scale.ONE : Address.Scale.TWO;
    for (int i = 0; i < size; i++) {
      a.loadByte(Gpr.R11, Address.at(Gpr.R8, Gpr.R10, scale, i));
      a.storeByte(Address.at(Gpr.RCX, result * size + i), Gpr.R11);
    }
  }
}
