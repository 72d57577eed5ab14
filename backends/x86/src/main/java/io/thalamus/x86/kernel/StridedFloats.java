// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Floats copied from one place to another: runs, by blocks of runs. Steps may be negative, and
 * those of the source 0.
 *
 * @param count floats of a run
 * @param readStep bytes from one float to the next where it is read
 * @param writeStep where it is written
 * @param blockReadStep bytes from one run to the next where it is read
 * @param blockWriteStep where it is written
 */
public record StridedFloats(
    int count, int readStep, int writeStep, int blockReadStep, int blockWriteStep) {
  private static final int X = 0;
  private static final int MASK = 1;

  /** Returns the function: o0 is the source, o1 the result; a block is a run. */
  public Function emit(Emitter emitter) {
    return emitter.function(this, () -> write(emitter));
  }

  private Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    final int entry = a.position();
    a.emit(Alu.ADD, Gpr.RDX, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.RCX, Gpr.RDI);
    boolean isDense = writeStep == Float.BYTES && (readStep == Float.BYTES || readStep == 0);
    int tail = count % emitter.lanes();
    if (isDense && tail > 0) {
      emitter.setTail(tail, emitter.vector(MASK));
    }
    Label again = new Label();
    a.bind(again);
    a.mov(Gpr.RDI, Gpr.RDX);
    a.mov(Gpr.RSI, Gpr.RCX);
    if (isDense) {
      dense(emitter);
    } else {
      single(a);
    }
    a.emit(Alu.ADD, Gpr.RDX, blockReadStep);
    a.emit(Alu.ADD, Gpr.RCX, blockWriteStep);
    a.emit(Alu.SUB, Gpr.R9, 1);
    a.jump(Condition.NOT_EQUAL, again);
    a.vzeroupper();
    a.ret();
    return new Function(
        entry,
        new Extent((count - 1L) * readStep + Float.BYTES, blockReadStep),
        new Extent((count - 1L) * writeStep + Float.BYTES, blockWriteStep),
        Extent.NONE,
        false);
  }

  private void dense(Emitter emitter) {
    Assembler a = emitter.assembler();
    Vector x = emitter.vector(X);
    boolean isRepeated = readStep == 0;
    if (isRepeated) {
      a.emit(Unary.VBROADCASTSS, x, Address.at(Gpr.RDI, 0));
    }
    int vectors = count / emitter.lanes();
    if (vectors > 0) {
      a.mov(Gpr.RAX, vectors);
      Label next = new Label();
      a.bind(next);
      if (!isRepeated) {
        a.load(Move.VMOVUPS, x, Address.at(Gpr.RDI, 0));
        a.emit(Alu.ADD, Gpr.RDI, emitter.length().bytes());
      }
      a.store(Move.VMOVUPS, Address.at(Gpr.RSI, 0), x);
      a.emit(Alu.ADD, Gpr.RSI, emitter.length().bytes());
      a.emit(Alu.SUB, Gpr.RAX, 1);
      a.jump(Condition.NOT_EQUAL, next);
    }
    if (count % emitter.lanes() > 0) {
      if (!isRepeated) {
        emitter.loadTail(x, emitter.vector(MASK), Address.at(Gpr.RDI, 0));
      }
      emitter.storeTail(Address.at(Gpr.RSI, 0), emitter.vector(MASK), x);
    }
  }

  private void single(Assembler a) {
    Vector x = new Vector(Length.XMM, X);
    a.mov(Gpr.RAX, count);
    Label next = new Label();
    a.bind(next);
    a.vmovss(x, Address.at(Gpr.RDI, 0));
    a.vmovss(Address.at(Gpr.RSI, 0), x);
    a.emit(Alu.ADD, Gpr.RDI, readStep);
    a.emit(Alu.ADD, Gpr.RSI, writeStep);
    a.emit(Alu.SUB, Gpr.RAX, 1);
    a.jump(Condition.NOT_EQUAL, next);
  }
}
