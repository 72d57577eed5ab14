// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Shift;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.List;

/**
 * A line of an image between two lines of another. The constant is how far it lies behind the upper
 * one, from 0 to 1.
 *
 * @param isBetween whether cells are between others; else each is its upper left one
 * @param columns of the result, by what each sees
 * @param lineStep bytes from the upper line to the lower
 * @param channels floats of a cell
 */
public record ResizedLine(boolean isBetween, List<Column> columns, int lineStep, int channels) {
  private static final int DOWN = 0;
  private static final int ALONG = 1;
  private static final int UPPER = 2;
  private static final int LOWER = 3;
  private static final int OTHER = 4;
  private static final int MASK = 5;

  /** Words of a column behind the code. */
  private static final int WORDS = 4;

  /**
   * A column between two.
   *
   * @param left cell
   * @param right cell, not before the left one
   * @param along how far it lies behind the left one, from 0 to 1
   */
  public record Column(int left, int right, float along) {}

  public ResizedLine {
    columns = List.copyOf(columns);
  }

  /** Returns the function: o0 is the upper line, o1 the result, o2 the constant. */
  public Function emit(Emitter emitter) {
    return emitter.function(this, () -> write(emitter));
  }

  private Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    final int entry = a.position();
    a.emit(Alu.ADD, Gpr.RDX, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.RCX, Gpr.RDI);
    a.emit(Alu.ADD, Gpr.R8, Gpr.RSI);
    a.emit(Unary.VBROADCASTSS, emitter.vector(DOWN), Address.at(Gpr.R8, 0));
    int cell = channels * Float.BYTES;
    int tail = channels % emitter.lanes();
    if (tail > 0) {
      emitter.setTail(tail, emitter.vector(MASK));
    }
    a.lea(Gpr.R8, Address.at(a.constant(table(cell))));
    a.mov(Gpr.R9, columns.size());
    Label again = new Label();
    a.bind(again);
    a.load(Gpr.R10, Address.at(Gpr.R8, 0));
    a.mov(Gpr.R11, Gpr.R10);
    a.emit(Shift.SHR, Gpr.R11, 32);
    a.emit(Shift.SHL, Gpr.R10, 32);
    a.emit(Shift.SHR, Gpr.R10, 32);
    a.emit(Alu.ADD, Gpr.R10, Gpr.RDX);
    a.emit(Alu.ADD, Gpr.R11, Gpr.RDX);
    a.emit(Unary.VBROADCASTSS, emitter.vector(ALONG), Address.at(Gpr.R8, 8));
    int vectors = channels / emitter.lanes();
    if (vectors > 0) {
      a.mov(Gpr.RAX, vectors);
      Label next = new Label();
      a.bind(next);
      one(emitter, false);
      a.emit(Alu.ADD, Gpr.R10, emitter.length().bytes());
      a.emit(Alu.ADD, Gpr.R11, emitter.length().bytes());
      a.emit(Alu.ADD, Gpr.RCX, emitter.length().bytes());
      a.emit(Alu.SUB, Gpr.RAX, 1);
      a.jump(Condition.NOT_EQUAL, next);
    }
    if (tail > 0) {
      one(emitter, true);
      a.emit(Alu.ADD, Gpr.RCX, tail * Float.BYTES);
    }
    a.emit(Alu.ADD, Gpr.R8, WORDS * Integer.BYTES);
    a.emit(Alu.SUB, Gpr.R9, 1);
    a.jump(Condition.NOT_EQUAL, again);
    a.vzeroupper();
    a.ret();
    int last = columns.stream().mapToInt(Column::right).max().orElse(0);
    return new Function(
        entry,
        new Extent((long) lineStep + (last + 1L) * cell, 0),
        new Extent((long) columns.size() * cell, 0),
        new Extent(Float.BYTES, 0),
        true);
  }

  private int[] table(int cell) {
    int[] words = new int[columns.size() * WORDS];
    for (int i = 0; i < columns.size(); i++) {
      words[i * WORDS] = columns.get(i).left() * cell;
      words[i * WORDS + 1] = columns.get(i).right() * cell;
      words[i * WORDS + 2] = Float.floatToRawIntBits(columns.get(i).along());
    }
    return words;
  }

  /** Between the upper and the lower line at two columns, then between these. */
  private void one(Emitter emitter, boolean isTail) {
    Assembler a = emitter.assembler();
    Vector left = emitter.vector(UPPER);
    Vector right = emitter.vector(OTHER);
    if (isBetween) {
      down(emitter, left, Gpr.R10, isTail);
      down(emitter, right, Gpr.R11, isTail);
      a.emit(Binary.VSUBPS, right, right, left);
      a.emit(Binary.VFMADD231PS, left, right, emitter.vector(ALONG));
    } else {
      load(emitter, left, Address.at(Gpr.R10, 0), isTail);
    }
    if (isTail) {
      emitter.storeTail(Address.at(Gpr.RCX, 0), emitter.vector(MASK), left);
    } else {
      a.store(Move.VMOVUPS, Address.at(Gpr.RCX, 0), left);
    }
  }

  private void down(Emitter emitter, Vector to, Gpr from, boolean isTail) {
    Assembler a = emitter.assembler();
    Vector lower = emitter.vector(LOWER);
    load(emitter, to, Address.at(from, 0), isTail);
    load(emitter, lower, Address.at(from, lineStep), isTail);
    a.emit(Binary.VSUBPS, lower, lower, to);
    a.emit(Binary.VFMADD231PS, to, lower, emitter.vector(DOWN));
  }

  private static void load(Emitter emitter, Vector to, Address from, boolean isTail) {
    if (isTail) {
      emitter.loadTail(to, emitter.vector(MASK), from);
    } else {
      emitter.assembler().load(Move.VMOVUPS, to, from);
    }
  }
}
