// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Shift;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.List;

/**
 * A line of an image between two lines of another. The constant is how far it lies behind the upper
 * one, from 0 to 1.
 *
 * @param way what cells are
 * @param columns of the result, by what each sees
 * @param lineStep bytes from the upper line to the lower
 * @param channels floats of a cell
 */
public record ResizedLine(Way way, List<Column> columns, int lineStep, int channels)
    implements FunctionSource {
  /** The way in which a cell follows from the four that it lies between. */
  public enum Way {
    /** The upper left one. */
    NEAREST,
    /** The value between them. */
    BETWEEN,
    /** The same as a sum of four products, each rounded, in the order in which they are read. */
    SUM_OF_FOUR
  }

  private static final int DOWN = 0;
  private static final int ALONG = 1;
  private static final int UPPER = 2;
  private static final int LOWER = 3;
  private static final int OTHER = 4;
  private static final int MASK = 5;
  private static final int UP = 6;
  private static final int BACK = 7;
  private static final int PRODUCT = 8;

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
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(true);
    a.emit(Unary.VBROADCASTSS, emitter.vector(DOWN), Address.at(Gpr.R8, 0));
    rest(emitter, DOWN, UP);
    int cell = channels * Float.BYTES;
    int tail = channels % emitter.lanes();
    emitter.setTail(tail, emitter.vector(MASK));
    a.lea(Gpr.R8, Address.at(a.constant(table(cell))));
    a.mov(Gpr.R9, columns.size());
    Label again = a.label();
    a.load(Gpr.R10, Address.at(Gpr.R8, 0));
    a.mov(Gpr.R11, Gpr.R10);
    a.emit(Shift.SHR, Gpr.R11, 32);
    a.emit(Shift.SHL, Gpr.R10, 32);
    a.emit(Shift.SHR, Gpr.R10, 32);
    a.emit(Alu.ADD, Gpr.R10, Gpr.RDX);
    a.emit(Alu.ADD, Gpr.R11, Gpr.RDX);
    a.emit(Unary.VBROADCASTSS, emitter.vector(ALONG), Address.at(Gpr.R8, 8));
    rest(emitter, ALONG, BACK);
    Loops.row(emitter, channels, isTail -> one(emitter, isTail), Gpr.R10, Gpr.R11, Gpr.RCX);
    if (tail > 0) {
      a.emit(Alu.ADD, Gpr.RCX, tail * Float.BYTES);
    }
    a.emit(Alu.ADD, Gpr.R8, WORDS * Integer.BYTES);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    int last = columns.stream().mapToInt(Column::right).max().orElse(0);
    return emitter.end(
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
    switch (way) {
      case NEAREST -> load(emitter, left, Address.at(Gpr.R10, 0), isTail);
      case BETWEEN -> {
        down(emitter, left, Gpr.R10, isTail);
        down(emitter, right, Gpr.R11, isTail);
        a.emit(Binary.VSUBPS, right, right, left);
        a.emit(Binary.VFMADD231PS, left, right, emitter.vector(ALONG));
      }
      case SUM_OF_FOUR -> {
        Vector product = emitter.vector(PRODUCT);
        product(emitter, left, Gpr.R10, 0, UP, BACK, isTail);
        product(emitter, product, Gpr.R10, lineStep, DOWN, BACK, isTail);
        a.emit(Binary.VADDPS, left, left, product);
        product(emitter, product, Gpr.R11, 0, UP, ALONG, isTail);
        a.emit(Binary.VADDPS, left, left, product);
        product(emitter, product, Gpr.R11, lineStep, DOWN, ALONG, isTail);
        a.emit(Binary.VADDPS, left, left, product);
      }
    }
    emitter.store(isTail, Address.at(Gpr.RCX, 0), emitter.vector(MASK), left);
  }

  /** Sets a register to what another one lacks to 1. */
  private void rest(Emitter emitter, int from, int to) {
    if (way == Way.SUM_OF_FOUR) {
      Assembler a = emitter.assembler();
      emitter.vectorOf(1, emitter.vector(to));
      a.emit(Binary.VSUBPS, emitter.vector(to), emitter.vector(to), emitter.vector(from));
    }
  }

  private static void product(
      Emitter emitter, Vector to, Gpr from, int line, int first, int second, boolean isTail) {
    Assembler a = emitter.assembler();
    load(emitter, to, Address.at(from, line), isTail);
    a.emit(Binary.VMULPS, to, to, emitter.vector(first));
    a.emit(Binary.VMULPS, to, to, emitter.vector(second));
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
    emitter.load(isTail, to, emitter.vector(MASK), from);
  }
}
