// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Rounding;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;

/**
 * A function of runs of two tensors of 32-bit elements, each read on or repeated; a block is a run.
 * All steps are in elements.
 *
 * @param pair of elements
 * @param count elements of a run
 * @param isFirstRepeated whether the first stays at one element
 * @param isSecondRepeated whether the second does
 * @param firstStep from one run of the first to the next
 * @param secondStep the same of the second
 * @param activation of floats
 */
public record Pairs(
    Pair pair,
    int count,
    boolean isFirstRepeated,
    boolean isSecondRepeated,
    int firstStep,
    int secondStep,
    FusedActivation activation)
    implements FunctionSource {
  private static final int FIRST = 0;
  private static final int SECOND = 1;
  private static final int LOW = 2;
  private static final int HIGH = 3;
  private static final int TAIL = 4;
  private static final int RESULT = 5;
  private static final int OTHER = 6;
  private static final int ARGUMENT = 7;
  private static final int SCRATCH = 8;

  /** One run of floats. */
  public Pairs(
      Pair pair,
      int count,
      boolean isFirstRepeated,
      boolean isSecondRepeated,
      FusedActivation activation) {
    this(pair, count, isFirstRepeated, isSecondRepeated, 0, 0, activation);
  }

  private boolean hasSecond() {
    return pair != Pair.FIRST;
  }

  private int resultSize() {
    return pair.isTruth() ? 1 : Float.BYTES;
  }

  /** Returns the function: o0 is the first, o1 the result, o2 the second, in memory. */
  @Override
  public Function write(Emitter emitter) {
    Assembler a = emitter.assembler();
    // Some are computed by instructions that AVX2 has.
    boolean isShort = pair.isTruth() || pair == Pair.INT_FLOOR_DIV;
    Length length = isShort ? Length.YMM : emitter.length();
    int lanes = length.bytes() / Float.BYTES;
    int vectors = count / lanes;
    int tail = count % lanes;
    emitter.begin(false);
    emitter.loadBounds(activation, new Vector(length, LOW), new Vector(length, HIGH));
    emitter.setTail(tail, new Vector(length, TAIL));
    Label again = a.label();
    if (isFirstRepeated) {
      a.emit(Unary.VBROADCASTSS, new Vector(length, FIRST), Address.at(Gpr.RDX, 0));
    }
    if (isSecondRepeated && hasSecond()) {
      a.emit(Unary.VBROADCASTSS, new Vector(length, SECOND), Address.at(Gpr.R8, 0));
    }
    Loops.repeat(
        a,
        Gpr.RAX,
        vectors,
        () -> {
          one(emitter, length, lanes);
          move(a, lanes);
        });
    if (tail > 0) {
      one(emitter, length, tail);
    }
    int done = vectors * lanes;
    add(a, Gpr.RCX, (count - done) * resultSize());
    add(a, Gpr.RDX, (firstStep - (isFirstRepeated ? 0 : done)) * Float.BYTES);
    add(a, Gpr.R8, (secondStep - (isSecondRepeated || !hasSecond() ? 0 : done)) * Float.BYTES);
    a.countDown(Gpr.R9, again);
    a.vzeroupper();
    long results = (long) count * resultSize();
    return emitter.end(
        extent(isFirstRepeated, firstStep),
        new Extent(results, results),
        hasSecond() ? extent(isSecondRepeated, secondStep) : Extent.NONE,
        false);
  }

  private Extent extent(boolean isRepeated, int step) {
    return new Extent((isRepeated ? 1L : count) * Float.BYTES, (long) step * Float.BYTES);
  }

  private void move(Assembler a, int elements) {
    a.emit(Alu.ADD, Gpr.RCX, elements * resultSize());
    if (!isFirstRepeated) {
      a.emit(Alu.ADD, Gpr.RDX, elements * Float.BYTES);
    }
    if (hasSecond() && !isSecondRepeated) {
      a.emit(Alu.ADD, Gpr.R8, elements * Float.BYTES);
    }
  }

  private static void add(Assembler a, Gpr to, int bytes) {
    if (bytes != 0) {
      a.emit(Alu.ADD, to, bytes);
    }
  }

  private void one(Emitter emitter, Length length, int elements) {
    boolean isTail = elements < length.bytes() / Float.BYTES;
    Vector tail = new Vector(length, TAIL);
    Vector first = new Vector(length, FIRST);
    Vector result = new Vector(length, RESULT);
    if (!isFirstRepeated) {
      emitter.load(isTail, first, tail, Address.at(Gpr.RDX, 0));
    }
    if (hasSecond() && !isSecondRepeated) {
      emitter.load(isTail, new Vector(length, SECOND), tail, Address.at(Gpr.R8, 0));
    }
    compute(emitter, first, new Vector(length, SECOND), result);
    if (pair.isTruth()) {
      storeTruth(emitter, result, elements);
      return;
    }
    emitter.clamp(activation, result, new Vector(length, LOW), new Vector(length, HIGH));
    emitter.store(isTail, Address.at(Gpr.RCX, 0), tail, result);
  }

  private void compute(Emitter emitter, Vector first, Vector second, Vector result) {
    Assembler a = emitter.assembler();
    Vector other = new Vector(result.length(), OTHER);
    if (pair.predicate().isPresent()) {
      a.vcmpps(result, first, second, pair.predicate().get());
      return;
    }
    if (pair.isSwapped()) {
      a.emit(pair.instruction().orElseThrow(), result, second, first);
    } else if (pair.instruction().isPresent()) {
      a.emit(pair.instruction().get(), result, first, second);
    }
    switch (pair) {
      case MAXIMUM, MINIMUM -> {
        Vector scratch = new Vector(result.length(), SCRATCH);
        emitter.replace(Predicate.UNORDERED, first, first, result, first, scratch);
      }
      case SQUARED_DIFFERENCE -> a.emit(Binary.VMULPS, result, result, result);
      case INT_SQUARED_DIFFERENCE -> a.emit(Binary.VPMULLD, result, result, result);
      case FLOOR_DIV -> a.vroundps(result, result, Rounding.DOWN);
      case PRELU -> {
        Vector scratch = new Vector(result.length(), SCRATCH);
        a.emit(Binary.VXORPS, other, other, other);
        emitter.replace(Predicate.GREATER_OR_EQUAL, first, other, result, first, scratch);
      }
      case POW -> {
        a.emit(Move.VMOVUPS, result, first);
        Vector argument = new Vector(result.length(), ARGUMENT);
        new FloatMath(emitter, SCRATCH).pow(result, second, argument, other);
      }
      case INT_FLOOR_DIV -> floorDivide(a, first, second, result);
      case INT_RIGHT_SHIFT -> {
        a.emit(Binary.VXORPS, other, other, other);
        a.emit(Binary.VPMAXSD, other, second, other);
        // More bits than an element has leave its sign.
        a.emit(Binary.VPSRAVD, result, first, other);
      }
      case FIRST -> a.emit(Move.VMOVUPS, result, first);
      default -> {
        if (pair.isNegated()) {
          a.emit(Binary.VPXOR, result, result, BytesToFloats.ints(a, -1));
        }
      }
    }
  }

  /** Divides as floats of 64 bits, whose quotients are on the right side of each whole number. */
  private static void floorDivide(Assembler a, Vector first, Vector second, Vector result) {
    Vector dividend = new Vector(Length.YMM, OTHER);
    Vector divisor = new Vector(Length.YMM, ARGUMENT);
    Vector half = new Vector(Length.XMM, SCRATCH);
    for (int i = 0; i < 2; i++) {
      a.vextracti128(half, first, i);
      a.emit(Unary.VCVTDQ2PD, dividend, half);
      a.vextracti128(half, second, i);
      a.emit(Unary.VCVTDQ2PD, divisor, half);
      a.emit(Binary.VDIVPD, dividend, dividend, divisor);
      a.vroundpd(dividend, dividend, Rounding.DOWN);
      a.vcvttpd2dq(half, dividend);
      a.vinserti128(result, result, half, i);
    }
    Vector zeros = dividend;
    a.emit(Binary.VXORPS, zeros, zeros, zeros);
    a.emit(Binary.VPCMPEQD, zeros, second, zeros);
    a.emit(Binary.VANDNPS, result, zeros, result);
  }

  /** Stores a byte for each element, all of whose bits are set or none. */
  private static void storeTruth(Emitter emitter, Vector result, int elements) {
    Assembler a = emitter.assembler();
    a.emit(Binary.VPAND, result, result, BytesToFloats.ints(a, 1));
    Vector upper = new Vector(Length.XMM, OTHER);
    Vector lower = result.as(Length.XMM);
    a.vextracti128(upper, result, 1);
    a.emit(Binary.VPACKSSDW, lower, lower, upper);
    a.emit(Binary.VPACKSSWB, lower, lower, lower);
    Bytes.store(a, lower, Gpr.RCX, 0, elements);
  }
}
