// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Vector;

/**
 * Rows of 32-bit elements written as columns, in squares of four. A block is some rows; those of
 * the next one are written beside them.
 *
 * @param rows of a block
 * @param columns of the source
 * @param readStep bytes from one row of the source to the next
 * @param writeStep bytes from one row of the result to the next
 */
public record Transposed(int rows, int columns, int readStep, int writeStep)
    implements FunctionSource {
  private static final int SIDE = 4;

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    Label again = a.label();
    Loops.repeat(a, Gpr.R10, rows / SIDE, () -> strip(a, SIDE));
    if (rows % SIDE > 0) {
      strip(a, rows % SIDE);
    }
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    return emitter.end(
        new Extent((rows - 1L) * readStep + (long) columns * Float.BYTES, (long) rows * readStep),
        new Extent(
            (columns - 1L) * writeStep + (long) rows * Float.BYTES, (long) rows * Float.BYTES));
  }

  /** Some rows at rdx, written to rcx; moves both on. */
  private void strip(Assembler a, int count) {
    a.mov(Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.RCX);
    int whole = count == SIDE ? columns / SIDE : 0;
    Loops.repeat(
        a,
        Gpr.RAX,
        whole,
        () -> {
          square(a);
          a.emit(Alu.ADD, Gpr.RDI, SIDE * Float.BYTES);
          a.emit(Alu.ADD, Gpr.RSI, SIDE * writeStep);
        });
    Loops.repeat(
        a,
        Gpr.RAX,
        columns - whole * SIDE,
        () -> {
          for (int row = 0; row < count; row++) {
            a.vmovss(x(row), Address.at(Gpr.RDI, row * readStep));
            a.vmovss(Address.at(Gpr.RSI, row * Float.BYTES), x(row));
          }
          a.emit(Alu.ADD, Gpr.RDI, Float.BYTES);
          a.emit(Alu.ADD, Gpr.RSI, writeStep);
        });
    a.emit(Alu.ADD, Gpr.RDX, count * readStep);
    a.emit(Alu.ADD, Gpr.RCX, count * Float.BYTES);
  }

  private void square(Assembler a) {
    for (int i = 0; i < SIDE; i++) {
      a.load(Move.VMOVUPS, x(i), Address.at(Gpr.RDI, i * readStep));
    }
    for (int i = 0; i < SIDE; i += 2) {
      a.emit(Binary.VUNPCKLPS, x(SIDE + i), x(i), x(i + 1));
      a.emit(Binary.VUNPCKHPS, x(SIDE + i + 1), x(i), x(i + 1));
    }
    for (int i = 0; i < 2; i++) {
      a.emit(Binary.VUNPCKLPD, x(2 * i), x(SIDE + i), x(SIDE + i + 2));
      a.emit(Binary.VUNPCKHPD, x(2 * i + 1), x(SIDE + i), x(SIDE + i + 2));
    }
    for (int i = 0; i < SIDE; i++) {
      a.store(Move.VMOVUPS, Address.at(Gpr.RSI, i * writeStep), x(i));
    }
  }

  private static Vector x(int number) {
    return new Vector(Length.XMM, number);
  }
}
