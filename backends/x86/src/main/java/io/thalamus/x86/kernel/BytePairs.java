// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;
import java.util.Optional;

/**
 * Sums or products of the stored bytes of two tensors, each read on or repeated, less their zero
 * points, and rescaled; a block is a run.
 *
 * @param reals what is computed of floats; empty for integers
 * @param sum what the bytes of each tensor are rescaled by before they are added; empty for
 *     products
 * @param result what sums or products are rescaled by
 * @param count bytes of the run
 * @param isFirstRepeated whether the first stays at one byte
 * @param isSecondRepeated whether the second does
 * @param firstStep bytes from one run of the first to the next
 * @param secondStep the same of the second
 * @param isSigned whether bytes are
 * @param firstZeroPoint of the first
 * @param secondZeroPoint of the second
 */
public record BytePairs(
    Optional<Reals> reals,
    Optional<Sum> sum,
    Rescale result,
    int count,
    boolean isFirstRepeated,
    boolean isSecondRepeated,
    int firstStep,
    int secondStep,
    boolean isSigned,
    int firstZeroPoint,
    int secondZeroPoint)
    implements FunctionSource {
  /**
   * The factors by which the bytes of each tensor are rescaled.
   *
   * @param leftShift before that, at least 16
   */
  public record Sum(int leftShift, Rescale first, Rescale second) {}

  /**
   * A function of the real numbers that bytes stand for.
   *
   * @param function of both
   * @param first the scale of the first tensor
   * @param second the scale of the second
   * @param scale by which results are divided
   */
  public record Reals(Binary function, float first, float second, float scale) {}

  private static final int ZERO = 0;
  private static final int EVEN = 1;
  private static final int ODD = 2;

  /** Two registers: the halves of the first tensor. */
  private static final int FIRST = 3;

  private static final int SECOND = 5;
  private static final int SUM = 7;

  /** Returns the function: o0 is the first, o1 the result, o2 the second, in memory. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.begin(false);
    Label again = a.label();
    run(emitter);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    return emitter.end(
        new Extent(isFirstRepeated ? 1 : count, firstStep),
        new Extent(count, count),
        new Extent(isSecondRepeated ? 1 : count, secondStep),
        false);
  }

  /** One run, behind which the pointers move to the next. */
  private void run(Emitter emitter) {
    Length length = emitter.length();
    begin(emitter, length);
    int pair = Rescale.pair(length);
    int rest = count % pair;
    loop(emitter, length, count / pair);
    if (length != Length.YMM && rest > 0) {
      // Halves of what was repeated are the same: shorter vectors find theirs.
      begin(emitter, Length.YMM);
      loop(emitter, Length.YMM, rest / Rescale.pair(Length.YMM));
      rest %= Rescale.pair(Length.YMM);
    }
    if (rest > 0) {
      step(emitter, Length.YMM, rest);
    }
    Assembler a = emitter.assembler();
    int done = count - rest;
    a.emit(Alu.ADD, Gpr.RCX, rest);
    a.emit(Alu.ADD, Gpr.RDX, firstStep - (isFirstRepeated ? 0 : done));
    a.emit(Alu.ADD, Gpr.R8, secondStep - (isSecondRepeated ? 0 : done));
  }

  private void begin(Emitter emitter, Length length) {
    Assembler a = emitter.assembler();
    Vector zero = new Vector(length, ZERO);
    a.emit(Binary.VXORPS, zero, zero, zero);
    result.prepare(emitter, length, 0);
    rescaleRepeated(emitter, length, isFirstRepeated, Gpr.RDX, true);
    rescaleRepeated(emitter, length, isSecondRepeated, Gpr.R8, false);
  }

  private void rescaleRepeated(
      Emitter emitter, Length length, boolean isRepeated, Gpr from, boolean isFirst) {
    if (isRepeated) {
      int at = isFirst ? FIRST : SECOND;
      Vector byteVector = new Vector(Length.XMM, at);
      Vector words = new Vector(length, at);
      emitter.assembler().emit(Unary.VPBROADCASTB, byteVector, Address.at(from, 0));
      emitter.assembler().emit(widen(), words.as(Length.YMM), byteVector);
      if (length == Length.ZMM) {
        // The same word everywhere.
        emitter.assembler().emit(Unary.VPBROADCASTD, words, byteVector);
      }
      halves(emitter, length, isFirst);
    }
  }

  private void loop(Emitter emitter, Length length, int rounds) {
    if (rounds == 0) {
      return;
    }
    Assembler a = emitter.assembler();
    a.mov(Gpr.RAX, rounds);
    Label again = a.label();
    int pair = Rescale.pair(length);
    step(emitter, length, pair);
    a.emit(Alu.ADD, Gpr.RCX, pair);
    if (!isFirstRepeated) {
      a.emit(Alu.ADD, Gpr.RDX, pair);
    }
    if (!isSecondRepeated) {
      a.emit(Alu.ADD, Gpr.R8, pair);
    }
    a.countDown(Gpr.RAX, again);
  }

  private void step(Emitter emitter, Length length, int bytes) {
    Assembler a = emitter.assembler();
    if (!isFirstRepeated) {
      load(emitter, length, bytes, Gpr.RDX, FIRST);
      halves(emitter, length, true);
    }
    if (!isSecondRepeated) {
      load(emitter, length, bytes, Gpr.R8, SECOND);
      halves(emitter, length, false);
    }
    for (int half = 0; half < 2; half++) {
      Vector value = new Vector(length, SUM + half);
      Vector first = new Vector(length, FIRST + half);
      Vector second = new Vector(length, SECOND + half);
      if (reals.isPresent()) {
        a.emit(reals.get().function(), value, first, second);
        a.emit(Binary.VDIVPS, value, value, emitter.all(reals.get().scale()));
        Rescale.nearest(emitter, value);
      } else {
        a.emit(sum.isPresent() ? Binary.VPADDD : Binary.VPMADDWD, value, first, second);
        rescale(emitter, result, value);
      }
    }
    result.store(emitter, new Vector(length, SUM), new Vector(length, SUM + 1), Gpr.RCX, 0, bytes);
  }

  private void load(Emitter emitter, Length length, int bytes, Gpr from, int to) {
    Assembler a = emitter.assembler();
    Vector words = new Vector(length, to);
    if (bytes == Rescale.pair(length)) {
      a.emit(widen(), words, Address.at(from, 0));
    } else {
      Bytes.load(a, words.as(Length.XMM), from, 0, bytes);
      a.emit(widen(), words, words.as(Length.XMM));
    }
  }

  /**
   * Makes words of a tensor two vectors: floats, rescaled for sums, words beside zeros for
   * products.
   */
  private void halves(Emitter emitter, Length length, boolean isFirst) {
    Assembler a = emitter.assembler();
    Vector zero = new Vector(length, ZERO);
    Vector lower = new Vector(length, isFirst ? FIRST : SECOND);
    Vector upper = new Vector(length, lower.number() + 1);
    int zeroPoint = isFirst ? firstZeroPoint : secondZeroPoint;
    a.emit(Binary.VPSUBW, lower, lower, Rescale.words(emitter, length, zeroPoint));
    if (reals.isPresent()) {
      a.emit(Binary.VPUNPCKHWD, upper, zero, lower);
      a.emit(Binary.VPUNPCKLWD, lower, zero, lower);
      for (Vector half : new Vector[] {lower, upper}) {
        a.emit(VectorShift.VPSRAD, half, half, Short.SIZE);
        a.emit(Unary.VCVTDQ2PS, half, half);
        float scale = isFirst ? reals.get().first() : reals.get().second();
        a.emit(Binary.VMULPS, half, half, emitter.all(scale));
      }
      return;
    }
    if (sum.isEmpty()) {
      a.emit(Binary.VPUNPCKHWD, upper, lower, zero);
      a.emit(Binary.VPUNPCKLWD, lower, lower, zero);
      return;
    }
    Rescale factor = isFirst ? sum.get().first() : sum.get().second();
    // Words in the upper halves are shifted by 16 already.
    a.emit(Binary.VPUNPCKHWD, upper, zero, lower);
    a.emit(Binary.VPUNPCKLWD, lower, zero, lower);
    int shift = sum.get().leftShift() - Short.SIZE;
    for (Vector half : new Vector[] {lower, upper}) {
      a.emit(VectorShift.VPSLLD, half, half, shift);
      rescale(emitter, factor, half);
    }
  }

  private static void rescale(Emitter emitter, Rescale rescale, Vector value) {
    Length length = value.length();
    rescale.round(
        emitter,
        rescale.constants(emitter, length),
        0,
        value,
        new Vector(length, EVEN),
        new Vector(length, ODD));
  }

  private Unary widen() {
    return isSigned ? Unary.VPMOVSXBW : Unary.VPMOVZXBW;
  }
}
