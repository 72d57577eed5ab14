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
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * The place of the largest or the least float, or integer of 32 bits, of each row, of equal ones
 * the first; a block is a row. Places are counted in floats, which are exact below {@link #MOST}.
 *
 * @param isLargest whether the largest is looked for
 * @param isInteger whether elements are integers
 * @param count elements of a row
 */
public record FoundRows(boolean isLargest, boolean isInteger, int count) implements FunctionSource {
  /** Elements of a row. */
  public static final int MOST = 1 << 24;

  private static final int BEST = 0;
  private static final int PLACE = 1;
  private static final int X = 2;
  private static final int CURRENT = 3;
  private static final int MASK = 4;
  private static final int START = 5;
  private static final int FOUND = 6;
  private static final int SCRATCH = 7;

  private Reducing kind() {
    return isInteger
        ? isLargest ? Reducing.INT_MAXIMUM : Reducing.INT_MINIMUM
        : isLargest ? Reducing.MAXIMUM : Reducing.MINIMUM;
  }

  /** Integers are compared by instructions that AVX2 has. */
  private Length length(Emitter emitter) {
    return isInteger ? Length.YMM : emitter.length();
  }

  private Vector vector(Emitter emitter, int number) {
    return new Vector(length(emitter), number);
  }

  private int lanes(Emitter emitter) {
    return length(emitter).bytes() / Float.BYTES;
  }

  /** Returns the function: o0 is the source, o1 the result, of 32-bit integers. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin();
    int bytes = length(emitter).bytes();
    int tail = count % lanes(emitter);
    if (tail > 0) {
      emitter.setTail(tail, vector(emitter, MASK));
      a.load(Move.VMOVUPS, vector(emitter, START), emitter.behind(tail, kind().start()));
    }
    Label again = a.label();
    a.load(Move.VMOVUPS, vector(emitter, BEST), emitter.all(kind().start()));
    a.load(Move.VMOVUPS, vector(emitter, PLACE), emitter.counted());
    a.load(Move.VMOVUPS, vector(emitter, CURRENT), emitter.counted());
    Vector x = vector(emitter, X);
    Loops.repeat(
        a,
        Gpr.RAX,
        count / lanes(emitter),
        () -> {
          a.load(Move.VMOVUPS, x, Address.at(Gpr.RDX, 0));
          a.emit(Alu.ADD, Gpr.RDX, bytes);
          compare(emitter);
        });
    if (tail > 0) {
      emitter.loadTail(x, vector(emitter, MASK), Address.at(Gpr.RDX, 0));
      a.emit(Binary.VORPS, x, x, vector(emitter, START));
      a.emit(Alu.ADD, Gpr.RDX, tail * Float.BYTES);
      compare(emitter);
    }
    finish(emitter);
    a.emit(Alu.ADD, Gpr.RCX, Integer.BYTES);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    long row = (long) count * Float.BYTES;
    return emitter.end(new Extent(row, row), new Extent(Integer.BYTES, Integer.BYTES));
  }

  /** Keeps what is better than what stood in the same element of a vector before. */
  private void compare(Emitter emitter) {
    Vector x = vector(emitter, X);
    Vector best = vector(emitter, BEST);
    Vector current = vector(emitter, CURRENT);
    Vector scratch = vector(emitter, SCRATCH);
    Vector place = vector(emitter, PLACE);
    Assembler a = emitter.assembler();
    if (isInteger) {
      a.emit(Binary.VPCMPGTD, scratch, isLargest ? x : best, isLargest ? best : x);
      a.vblendvps(place, place, current, scratch);
      a.vblendvps(best, best, x, scratch);
    } else {
      Predicate better = isLargest ? Predicate.GREATER : Predicate.LESS;
      emitter.replace(better, x, best, place, current, scratch);
      emitter.replace(better, x, best, best, x, scratch);
    }
    a.emit(Binary.VADDPS, current, current, emitter.all(lanes(emitter)));
  }

  private void finish(Emitter emitter) {
    Assembler a = emitter.assembler();
    Vector found = vector(emitter, FOUND);
    Vector place = vector(emitter, PLACE);
    Vector none = vector(emitter, CURRENT);
    Vector scratch = vector(emitter, SCRATCH);
    a.emit(Move.VMOVUPS, found, vector(emitter, BEST));
    Across.emit(emitter, kind(), found, scratch);
    emitter.vectorOf(Float.POSITIVE_INFINITY, none);
    if (isInteger) {
      a.emit(Binary.VPCMPEQD, scratch, vector(emitter, BEST), found);
      a.vblendvps(place, none, place, scratch);
    } else {
      emitter.replace(Predicate.NOT_EQUAL, vector(emitter, BEST), found, place, none, scratch);
    }
    Across.emit(emitter, Reducing.MINIMUM, place, scratch);
    a.emit(Unary.VCVTTPS2DQ, place, place);
    a.vmovss(Address.at(Gpr.RCX, 0), place.as(Length.XMM));
  }
}
