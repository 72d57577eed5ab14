// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Address.Scale;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Shift;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import java.util.List;
import java.util.function.Consumer;

/**
 * Boxes with the best scores, of equal ones the first, none of which overlaps too much with a
 * better one: one pass over all boxes for each that is chosen. A call chooses some of them. Scores
 * become 0 where a box is not to be chosen any more.
 *
 * @param count of all boxes, {@link FoundRows#MOST} at most
 * @param scoreThreshold not negative; scores must be above it
 * @param overlapThreshold intersections by unions must be below it
 * @param total of boxes that all calls choose
 * @param first the number of those that earlier calls choose; the call with 0 is the first one
 * @param most that the call chooses
 */
public record ChosenBoxes(
    int count, float scoreThreshold, float overlapThreshold, int total, int first, int most)
    implements FunctionSource {
  /** Bytes of what is reported of a chosen box; all are 0 where there is none. */
  public static final int BYTES = 24;

  /** Where the score stands behind y1, x1, y2 and x2. */
  public static final int SCORE = 16;

  /** Where the number of the box stands, an integer. */
  public static final int NUMBER = 20;

  /** Elements of the longest vector, which scores are filled up to. */
  private static final int MULTIPLE = 16;

  private static final int BEST = 0;
  private static final int PLACE = 1;
  private static final int CURRENT = 2;
  private static final int SCORES = 3;
  private static final int Y1 = 4;
  private static final int X1 = 5;
  private static final int Y2 = 6;
  private static final int X2 = 7;
  private static final int AREA = 8;
  private static final int ZERO = 9;
  private static final int THRESHOLD = 10;

  /** The first of those whose contents are needed for a few instructions only. */
  private static final int T = 11;

  /** A place below the stack's end that {@link Across} does not use. */
  private static final Address INTEGER = Address.at(Gpr.RSP, -2 * Length.ZMM.bytes());

  /** Returns where the first chosen box stands behind the scores of so many. */
  public static int chosen(int count) {
    return Math.ceilDiv(count, MULTIPLE) * MULTIPLE * Float.BYTES;
  }

  /** Returns the bytes of the scores and of what is reported of the chosen boxes. */
  public long bytes() {
    return chosen(count) + (long) total * BYTES;
  }

  private int row() {
    return count * Float.BYTES;
  }

  /**
   * Returns the function: o0 are all y1, and behind them all x1; o1 the scores, and behind them,
   * from {@link #chosen} on, what is reported of the chosen boxes; o2 all y2 and x2. There is one
   * block.
   */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    int vectors = Math.ceilDiv(count, emitter.lanes());
    Vector zero = emitter.vector(ZERO);
    a.emit(Binary.VXORPS, zero, zero, zero);
    if (first == 0) {
      begin(emitter);
    }
    emitter.vectorOf(overlapThreshold, emitter.vector(THRESHOLD));
    start(emitter);
    Loops.repeat(a, Gpr.RAX, vectors, () -> pass(emitter, this::find));
    a.lea(Gpr.RDI, Address.at(Gpr.RCX, chosen(count) + first * BYTES));
    a.mov(Gpr.R9, most);
    Label done = new Label();
    Label again = a.label();
    choose(emitter, done);
    boolean isLast = first + most == total;
    if (isLast) {
      a.emit(Alu.SUB, Gpr.R9, 1);
      a.jump(Condition.EQUAL, done);
    }
    start(emitter);
    a.mov(Gpr.R10, Gpr.RDX);
    a.mov(Gpr.R11, Gpr.R8);
    Loops.repeat(a, Gpr.RAX, vectors, () -> pass(emitter, this::suppress));
    if (isLast) {
      a.jump(again);
    } else {
      a.countDown(Gpr.R9, again);
    }
    a.bind(done);
    a.vzeroupper();
    long boxes = row() + (long) vectors * emitter.length().bytes();
    return emitter.end(List.of(new Extent(boxes, 0), new Extent(bytes(), 0), new Extent(boxes, 0)));
  }

  /** Makes scores 0 that are not above the threshold, and all that is reported of chosen boxes. */
  private void begin(Emitter emitter) {
    Assembler a = emitter.assembler();
    a.mov(Gpr.RAX, 0);
    a.lea(Gpr.RSI, Address.at(Gpr.RCX, chosen(count)));
    Loops.repeat(
        a,
        Gpr.R10,
        total * (BYTES / Long.BYTES),
        () -> {
          a.store(Address.at(Gpr.RSI, 0), Gpr.RAX);
          a.emit(Alu.ADD, Gpr.RSI, Long.BYTES);
        });
    Vector tail = emitter.vector(T + 1);
    emitter.setTail(count % emitter.lanes(), tail);
    emitter.vectorOf(scoreThreshold, emitter.vector(THRESHOLD));
    a.mov(Gpr.RSI, Gpr.RCX);
    Loops.row(
        emitter,
        count,
        isTail -> {
          Vector scores = emitter.vector(SCORES);
          Vector good = emitter.vector(T);
          emitter.load(isTail, scores, tail, Address.at(Gpr.RSI, 0));
          a.emit(Move.VMOVUPS, good, emitter.vector(ZERO));
          emitter.replace(
              Predicate.GREATER,
              scores,
              emitter.vector(THRESHOLD),
              good,
              scores,
              emitter.vector(T + 2));
          a.store(Move.VMOVUPS, Address.at(Gpr.RSI, 0), good);
        },
        Gpr.RSI);
  }

  /** Begins to look for the best score. */
  private static void start(Emitter emitter) {
    Assembler a = emitter.assembler();
    a.emit(Move.VMOVUPS, emitter.vector(BEST), emitter.vector(ZERO));
    a.load(Move.VMOVUPS, emitter.vector(PLACE), emitter.counted());
    a.load(Move.VMOVUPS, emitter.vector(CURRENT), emitter.counted());
    a.mov(Gpr.RSI, Gpr.RCX);
  }

  /** Loads some scores, of which another piece of code makes something, and goes on. */
  private static void pass(Emitter emitter, Consumer<Emitter> body) {
    Assembler a = emitter.assembler();
    a.load(Move.VMOVUPS, emitter.vector(SCORES), Address.at(Gpr.RSI, 0));
    body.accept(emitter);
    a.emit(Alu.ADD, Gpr.RSI, emitter.length().bytes());
  }

  /** Keeps scores that are better than those in the same element before, and their places. */
  private void find(Emitter emitter) {
    Assembler a = emitter.assembler();
    Vector scores = emitter.vector(SCORES);
    Vector best = emitter.vector(BEST);
    Vector current = emitter.vector(CURRENT);
    emitter.replace(
        Predicate.GREATER, scores, best, emitter.vector(PLACE), current, emitter.vector(T));
    a.emit(Binary.VMAXPS, best, scores, best);
    a.emit(Binary.VADDPS, current, current, emitter.all(emitter.lanes()));
  }

  /** Makes scores 0 whose boxes overlap too much with the chosen one. */
  private void suppress(Emitter emitter) {
    Assembler a = emitter.assembler();
    Vector common = emitter.vector(T);
    Vector area = emitter.vector(T + 1);
    extent(emitter, 0, Y1, Y2, common, area);
    Vector width = emitter.vector(T + 2);
    extent(emitter, row(), X1, X2, width, emitter.vector(T + 3));
    a.emit(Binary.VMULPS, area, area, emitter.vector(T + 3));
    a.emit(Binary.VMULPS, common, common, width);
    a.emit(Binary.VADDPS, area, area, emitter.vector(AREA));
    a.emit(Binary.VSUBPS, area, area, common);
    a.emit(Binary.VDIVPS, common, common, area);
    Vector scores = emitter.vector(SCORES);
    emitter.replace(
        Predicate.GREATER_OR_EQUAL,
        common,
        emitter.vector(THRESHOLD),
        scores,
        emitter.vector(ZERO),
        width);
    a.store(Move.VMOVUPS, Address.at(Gpr.RSI, 0), scores);
    a.emit(Alu.ADD, Gpr.R10, emitter.length().bytes());
    a.emit(Alu.ADD, Gpr.R11, emitter.length().bytes());
    find(emitter);
  }

  /**
   * Sets a register to what boxes have in common with the chosen one along an axis, and another one
   * to what they have.
   */
  private static void extent(
      Emitter emitter, int at, int low, int high, Vector common, Vector whole) {
    Assembler a = emitter.assembler();
    Vector upper = emitter.vector(T + 4);
    a.load(Move.VMOVUPS, common, Address.at(Gpr.R10, at));
    a.load(Move.VMOVUPS, upper, Address.at(Gpr.R11, at));
    a.emit(Binary.VSUBPS, whole, upper, common);
    a.emit(Binary.VMAXPS, common, common, emitter.vector(low));
    a.emit(Binary.VMINPS, upper, upper, emitter.vector(high));
    a.emit(Binary.VSUBPS, common, upper, common);
    // NaN stays NaN: it is the second operand.
    a.emit(Binary.VMAXPS, common, emitter.vector(ZERO), common);
  }

  /** Tells of the best box at rdi, and loads it; jumps where there is none. */
  private void choose(Emitter emitter, Label done) {
    Assembler a = emitter.assembler();
    Vector score = emitter.vector(T);
    Vector other = emitter.vector(T + 1);
    Vector place = emitter.vector(PLACE);
    a.emit(Move.VMOVUPS, score, emitter.vector(BEST));
    Across.emit(emitter, Reducing.MAXIMUM, score, other);
    a.vmovss(INTEGER, score.as(Length.XMM));
    a.load(Gpr.RAX, INTEGER);
    a.emit(Shift.SHL, Gpr.RAX, Integer.SIZE);
    a.emit(Alu.CMP, Gpr.RAX, 0);
    a.jump(Condition.EQUAL, done);
    Vector none = emitter.vectorOf(Float.POSITIVE_INFINITY, emitter.vector(T + 2));
    emitter.replace(Predicate.NOT_EQUAL, emitter.vector(BEST), score, place, none, other);
    Across.emit(emitter, Reducing.MINIMUM, place, other);
    a.emit(Unary.VCVTTPS2DQ, place, place);
    a.vmovss(INTEGER, place.as(Length.XMM));
    a.load(Gpr.RAX, INTEGER);
    a.emit(Shift.SHL, Gpr.RAX, Integer.SIZE);
    a.emit(Shift.SHR, Gpr.RAX, Integer.SIZE);
    a.emit(Alu.CMP, Gpr.RAX, count);
    a.jump(Condition.ABOVE_OR_EQUAL, done);
    a.vmovss(Address.at(Gpr.RDI, SCORE), score.as(Length.XMM));
    a.vmovss(Address.at(Gpr.RDI, NUMBER), place.as(Length.XMM));
    load(emitter, Y1, Gpr.RDX, 0, 0);
    load(emitter, X1, Gpr.RDX, row(), 1);
    load(emitter, Y2, Gpr.R8, 0, 2);
    load(emitter, X2, Gpr.R8, row(), 3);
    Vector area = emitter.vector(AREA);
    a.emit(Binary.VSUBPS, area, emitter.vector(Y2), emitter.vector(Y1));
    a.emit(Binary.VSUBPS, other, emitter.vector(X2), emitter.vector(X1));
    a.emit(Binary.VMULPS, area, area, other);
    a.vmovss(Address.at(Gpr.RCX, Gpr.RAX, Scale.FOUR, 0), emitter.vector(ZERO).as(Length.XMM));
    a.emit(Alu.ADD, Gpr.RDI, BYTES);
  }

  /** Loads a number of the box rax, and tells it. */
  private static void load(Emitter emitter, int number, Gpr boxes, int row, int index) {
    Assembler a = emitter.assembler();
    Vector to = emitter.vector(number);
    a.emit(Unary.VBROADCASTSS, to, Address.at(boxes, Gpr.RAX, Scale.FOUR, row));
    a.vmovss(Address.at(Gpr.RDI, index * Float.BYTES), to.as(Length.XMM));
  }
}
