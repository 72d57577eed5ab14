// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.Optional;

/**
 * A function over a run of floats: of two tensors, each read on or repeated, or of one.
 *
 * @param operation of two tensors; empty for the first alone
 * @param count floats of the run
 * @param isFirstRepeated whether the first stays at one float
 * @param isSecondRepeated whether the second does
 */
public record Pairs(
    Optional<Binary> operation,
    int count,
    boolean isFirstRepeated,
    boolean isSecondRepeated,
    FusedActivation activation) {
  private static final int FIRST = 0;
  private static final int SECOND = 1;
  private static final int LOW = 2;
  private static final int HIGH = 3;
  private static final int TAIL = 4;

  /** Returns the function: o0 is the first, o1 the result, o2 the second, in memory. */
  public Function emit(Emitter emitter) {
    return emitter.function(this, () -> write(emitter));
  }

  private Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    final int entry = a.position();
    a.emit(Alu.ADD, Gpr.RDX, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.RCX, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.R8, Gpr.RDI);
    emitter.loadBounds(activation, emitter.vector(LOW), emitter.vector(HIGH));
    if (isFirstRepeated) {
      a.emit(Unary.VBROADCASTSS, emitter.vector(FIRST), Address.at(Gpr.RDX, 0));
    }
    if (isSecondRepeated) {
      a.emit(Unary.VBROADCASTSS, emitter.vector(SECOND), Address.at(Gpr.R8, 0));
    }
    int vectors = count / emitter.lanes();
    if (vectors > 0) {
      a.mov(Gpr.RAX, vectors);
      Label again = new Label();
      a.bind(again);
      one(emitter, false);
      int bytes = emitter.length().bytes();
      a.emit(Alu.ADD, Gpr.RCX, bytes);
      if (!isFirstRepeated) {
        a.emit(Alu.ADD, Gpr.RDX, bytes);
      }
      if (operation.isPresent() && !isSecondRepeated) {
        a.emit(Alu.ADD, Gpr.R8, bytes);
      }
      a.emit(Alu.SUB, Gpr.RAX, 1);
      a.jump(Condition.NOT_EQUAL, again);
    }
    int tail = count % emitter.lanes();
    if (tail > 0) {
      emitter.setTail(tail, emitter.vector(TAIL));
      one(emitter, true);
    }
    a.vzeroupper();
    a.ret();
    Extent run = new Extent((long) count * Float.BYTES, 0);
    Extent single = new Extent(Float.BYTES, 0);
    return new Function(
        entry,
        isFirstRepeated ? single : run,
        run,
        operation.isEmpty() ? Extent.NONE : isSecondRepeated ? single : run,
        false);
  }

  private void one(Emitter emitter, boolean isTail) {
    Assembler a = emitter.assembler();
    Vector tail = emitter.vector(TAIL);
    Vector result = emitter.vector(TAIL + 1);
    if (!isFirstRepeated) {
      load(emitter, emitter.vector(FIRST), Gpr.RDX, isTail);
    }
    if (operation.isPresent()) {
      if (!isSecondRepeated) {
        load(emitter, emitter.vector(SECOND), Gpr.R8, isTail);
      }
      a.emit(operation.get(), result, emitter.vector(FIRST), emitter.vector(SECOND));
    } else {
      a.emit(Move.VMOVUPS, result, emitter.vector(FIRST));
    }
    emitter.clamp(activation, result, emitter.vector(LOW), emitter.vector(HIGH));
    if (isTail) {
      emitter.storeTail(Address.at(Gpr.RCX, 0), tail, result);
    } else {
      a.store(Move.VMOVUPS, Address.at(Gpr.RCX, 0), result);
    }
  }

  private static void load(Emitter emitter, Vector to, Gpr from, boolean isTail) {
    if (isTail) {
      emitter.loadTail(to, emitter.vector(TAIL), Address.at(from, 0));
    } else {
      emitter.assembler().load(Move.VMOVUPS, to, Address.at(from, 0));
    }
  }
}
