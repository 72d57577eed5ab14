// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * Elements that replace those of the result where a truth value is not 0.
 *
 * @param size bytes of an element: 1, 2 or 4
 * @param count elements
 */
public record Chosen(int size, int count) implements FunctionSource {
  private static final int LANES = 8;
  private static final Vector VALUE = new Vector(Length.YMM, 0);
  private static final Vector TRUTH = new Vector(Length.YMM, 1);
  private static final Vector ZERO = new Vector(Length.YMM, 2);

  /** Returns the function: o0 has truth values, o1 is the result, o2 what replaces it. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    if (size == Float.BYTES) {
      a.emit(Binary.VXORPS, ZERO, ZERO, ZERO);
      Loops.repeat(
          a,
          Gpr.R9,
          count / LANES,
          () -> {
            words(a, LANES);
            move(a, LANES);
          });
      if (count % LANES > 0) {
        words(a, count % LANES);
      }
    } else {
      Loops.repeat(a, Gpr.R9, count, () -> single(a));
    }
    a.vzeroupper();
    Extent run = new Extent((long) count * size, 0);
    return emitter.end(new Extent(count, 0), run, run, false);
  }

  private void move(Assembler a, int elements) {
    a.emit(Alu.ADD, Gpr.RDX, elements);
    a.emit(Alu.ADD, Gpr.RCX, elements * size);
    a.emit(Alu.ADD, Gpr.R8, elements * size);
  }

  private static void words(Assembler a, int elements) {
    if (elements == LANES) {
      a.emit(Unary.VPMOVZXBD, TRUTH, Address.at(Gpr.RDX, 0));
    } else {
      Bytes.load(a, TRUTH.as(Length.XMM), Gpr.RDX, 0, elements);
      a.emit(Unary.VPMOVZXBD, TRUTH, TRUTH.as(Length.XMM));
    }
    a.emit(Unary.VCVTDQ2PS, TRUTH, TRUTH);
    a.vcmpps(TRUTH, TRUTH, ZERO, Predicate.NOT_EQUAL);
    a.vmaskmovps(VALUE, TRUTH, Address.at(Gpr.R8, 0));
    a.vmaskmovps(Address.at(Gpr.RCX, 0), TRUTH, VALUE);
  }

  private void single(Assembler a) {
    Label next = new Label();
    a.loadByte(Gpr.RAX, Address.at(Gpr.RDX, 0));
    a.emit(Alu.CMP, Gpr.RAX, 0);
    a.jump(Condition.EQUAL, next);
    for (int i = 0; i < size; i++) {
      a.loadByte(Gpr.RAX, Address.at(Gpr.R8, i));
      a.storeByte(Address.at(Gpr.RCX, i), Gpr.RAX);
    }
    a.bind(next);
    move(a, 1);
  }
}
