// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Rows of floats brought to a common size; a block is a row.
 *
 * @param isCentered whether they get mean 0 and variance 1, else the sum of squares 1
 * @param count floats of a row
 * @param least what is added to the variance; the least root of a sum of squares
 */
public record NormalizedRows(boolean isCentered, int count, float least) implements FunctionSource {
  private static final int X = 0;
  private static final int MEAN = 1;
  private static final int SUM = 2;
  private static final int SIZE = 3;
  private static final int MASK = 4;
  private static final int SCRATCH = 5;

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    emitter.setTail(count % emitter.lanes(), emitter.vector(MASK));
    Label again = a.label();
    if (isCentered) {
      mean(emitter);
    }
    size(emitter);
    Vector x = emitter.vector(X);
    pass(
        emitter,
        isTail -> {
          load(emitter, isTail);
          a.emit(Binary.VDIVPS, x, x, emitter.vector(SIZE));
          emitter.store(isTail, Address.at(Gpr.RSI, 0), emitter.vector(MASK), x);
        });
    Extent row = new Extent((long) count * Float.BYTES, (long) count * Float.BYTES);
    return emitter.endBlocks(again, row, row);
  }

  private void mean(Emitter emitter) {
    Assembler a = emitter.assembler();
    Vector mean = emitter.vector(MEAN);
    Vector sum = emitter.vector(SUM);
    a.emit(Binary.VXORPS, mean, mean, mean);
    a.emit(Binary.VXORPS, sum, sum, sum);
    pass(
        emitter,
        isTail -> {
          load(emitter, isTail);
          a.emit(Binary.VADDPS, sum, sum, emitter.vector(X));
        });
    Across.emit(emitter, Reducing.SUM, sum, emitter.vector(SCRATCH));
    a.emit(Binary.VDIVPS, mean, sum, emitter.all(count));
  }

  private void size(Emitter emitter) {
    Assembler a = emitter.assembler();
    Vector x = emitter.vector(X);
    Vector sum = emitter.vector(SUM);
    a.emit(Binary.VXORPS, sum, sum, sum);
    pass(
        emitter,
        isTail -> {
          load(emitter, isTail);
          a.emit(Binary.VFMADD231PS, sum, x, x);
        });
    Across.emit(emitter, Reducing.SUM, sum, emitter.vector(SCRATCH));
    Vector size = emitter.vector(SIZE);
    if (isCentered) {
      a.emit(Binary.VDIVPS, sum, sum, emitter.all(count));
      a.emit(Binary.VADDPS, sum, sum, emitter.all(least));
      a.emit(Unary.VSQRTPS, size, sum);
    } else {
      a.emit(Unary.VSQRTPS, size, sum);
      a.emit(Binary.VMAXPS, size, size, emitter.all(least));
    }
  }

  /** Loads what rdi points to, less the mean; elements behind a row become 0. */
  private void load(Emitter emitter, boolean isTail) {
    Assembler a = emitter.assembler();
    Vector x = emitter.vector(X);
    emitter.load(isTail, x, emitter.vector(MASK), Address.at(Gpr.RDI, 0));
    if (isCentered) {
      a.emit(Binary.VSUBPS, x, x, emitter.vector(MEAN));
    }
    if (isCentered && isTail) {
      a.emit(Binary.VANDPS, x, x, emitter.first(count % emitter.lanes()));
    }
  }

  /** Moves rdi over the row of the source, and rsi over that of the result. */
  private void pass(Emitter emitter, Loops.Body body) {
    Assembler a = emitter.assembler();
    a.mov(Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.RCX);
    Loops.row(emitter, count, body, Gpr.RDI, Gpr.RSI);
  }
}
