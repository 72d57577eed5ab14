// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Rows of scores made into probabilities; a block is a row.
 *
 * @param count floats of a row
 * @param beta factor of scores
 */
public record SoftmaxRows(int count, float beta) implements FunctionSource {
  private static final int X = 0;
  private static final int MASK = 3;
  private static final int MOST = 4;
  private static final int SUM = 5;

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    emitter.setTail(count % emitter.lanes(), emitter.vector(MASK));
    Label again = a.label();
    largest(emitter);
    Vector x = emitter.vector(X);
    Vector sum = emitter.vector(SUM);
    Vector mask = emitter.vector(MASK);
    Address source = Address.at(Gpr.RDX, 0);
    Address result = Address.at(Gpr.RCX, 0);
    a.emit(Binary.VXORPS, sum, sum, sum);
    pass(
        emitter,
        isTail -> {
          emitter.load(isTail, x, mask, source);
          a.emit(Binary.VSUBPS, x, x, emitter.vector(MOST));
          if (beta != 1) {
            a.emit(Binary.VMULPS, x, x, emitter.all(beta));
          }
          Exponential.emit(emitter, x, emitter.vector(X + 1), emitter.vector(X + 2));
          emitter.store(isTail, result, mask, x);
          if (isTail) {
            // What lies behind the row becomes 0.
            emitter.loadTail(x, mask, result);
          }
          a.emit(Binary.VADDPS, sum, sum, x);
        });
    across(emitter, Binary.VADDPS, sum);
    pass(
        emitter,
        isTail -> {
          emitter.load(isTail, x, mask, result);
          a.emit(Binary.VDIVPS, x, x, sum);
          emitter.store(isTail, result, mask, x);
        });
    Extent row = new Extent((long) count * Float.BYTES, (long) count * Float.BYTES);
    return emitter.endBlocks(again, row, row);
  }

  /** Sets all elements of a register to the largest float of the row at rdx. */
  private void largest(Emitter emitter) {
    Assembler a = emitter.assembler();
    Vector most = emitter.vector(MOST);
    a.emit(Unary.VBROADCASTSS, most, Address.at(Gpr.RDX, 0));
    int vectors = count / emitter.lanes();
    a.mov(Gpr.R10, Gpr.RDX);
    Loops.repeat(
        a,
        Gpr.RAX,
        vectors,
        () -> {
          a.emit(Binary.VMAXPS, most, most, Address.at(Gpr.R10, 0));
          a.emit(Alu.ADD, Gpr.R10, emitter.length().bytes());
        });
    for (int i = vectors * emitter.lanes(); i < count; i++) {
      a.emit(Unary.VBROADCASTSS, emitter.vector(X), Address.at(Gpr.RDX, i * Float.BYTES));
      a.emit(Binary.VMAXPS, most, most, emitter.vector(X));
    }
    across(emitter, Binary.VMAXPS, most);
  }

  /** Sets all elements of a register to what a function makes of all, in their order. */
  private void across(Emitter emitter, Binary function, Vector value) {
    Assembler a = emitter.assembler();
    // Below the stack's end: a function that calls none owns 128 bytes there.
    int below = -emitter.length().bytes();
    a.store(Move.VMOVUPS, Address.at(Gpr.RSP, below), value);
    a.emit(Unary.VBROADCASTSS, value, Address.at(Gpr.RSP, below));
    for (int i = 1; i < emitter.lanes(); i++) {
      Vector other = emitter.vector(X);
      a.emit(Unary.VBROADCASTSS, other, Address.at(Gpr.RSP, below + i * Float.BYTES));
      a.emit(function, value, value, other);
    }
  }

  /** Moves rdx and rcx over the row, and back. */
  private void pass(Emitter emitter, Loops.Body body) {
    Assembler a = emitter.assembler();
    int bytes = emitter.length().bytes();
    int vectors = count / emitter.lanes();
    Loops.row(emitter, count, body, Gpr.RDX, Gpr.RCX);
    if (vectors > 0) {
      a.emit(Alu.SUB, Gpr.RDX, vectors * bytes);
      a.emit(Alu.SUB, Gpr.RCX, vectors * bytes);
    }
  }
}
