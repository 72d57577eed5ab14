// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.extension.Elementwise.Rescaled;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Rounding;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;
import io.thalamus.x86.kernel.Mapped.Kind;
import java.util.List;
import java.util.Optional;

/**
 * A function of elements of 32 bits, from vectors in registers to another one: a step of a {@link
 * Chain}. Immutable.
 */
public sealed interface ElementFunction {
  /** Registers that a function may change; its operands may be in the first two. */
  int SCRATCH = 3 + FloatMath.SCRATCH;

  /** Returns the number of operands. */
  default int operands() {
    return 1;
  }

  /** Returns true if it takes instructions that have vectors of AVX2 alone. */
  default boolean isShort() {
    return false;
  }

  /** Returns true if its results are all the bits of an element or none. */
  default boolean isTruth() {
    return false;
  }

  /** Writes what {@link #emit} needs all along, once before all loops; changes rax. */
  default void prepare(Emitter emitter, Length length) {}

  /**
   * Writes the code.
   *
   * @param result that no other operand is in than one of {@link Single}
   * @param scratch the first of {@link #SCRATCH} registers
   */
  void emit(Emitter emitter, Vector result, List<Vector> operands, int scratch);

  /**
   * A function of one element.
   *
   * @param parameter of ELU
   */
  record Single(Kind kind, float parameter) implements ElementFunction {
    @Override
    public void emit(Emitter emitter, Vector result, List<Vector> operands, int scratch) {
      if (!operands.getFirst().equals(result)) {
        emitter.assembler().emit(Move.VMOVUPS, result, operands.getFirst());
      }
      Vector s = emitter.vector(scratch);
      Vector t = emitter.vector(scratch + 1);
      Mapped.map(emitter, kind, parameter, result, s, t, scratch + 3);
    }
  }

  /** An integer times a factor that rounds twice, within the range of another type. */
  record Scaled(Rescaled rescaled) implements ElementFunction {
    /** Returns what is done before the second rounding, for which an element has no bit left. */
    private Rescale product() {
      int multiplier = rescaled.factor().multiplier();
      int left = Math.max(rescaled.factor().shift(), 0);
      Factor factor = new Factor(left, multiplier, 1L << 31, 0, 0);
      return new Rescale(
          false,
          left > 0,
          true,
          false,
          false,
          false,
          0,
          Integer.MIN_VALUE,
          Integer.MAX_VALUE,
          Optional.of(factor));
    }

    @Override
    public void prepare(Emitter emitter, Length length) {
      product().prepare(emitter, length, 0);
    }

    @Override
    public void emit(Emitter emitter, Vector result, List<Vector> operands, int scratch) {
      Assembler a = emitter.assembler();
      if (rescaled.origin() != 0) {
        a.emit(Binary.VPSUBD, result, operands.getFirst(), all(emitter, rescaled.origin()));
      } else if (!operands.getFirst().equals(result)) {
        a.emit(Move.VMOVUPS, result, operands.getFirst());
      }
      Rescale product = product();
      Vector sign = new Vector(result.length(), scratch);
      Vector other = new Vector(result.length(), scratch + 1);
      product.round(emitter, product.constants(emitter, result.length()), 0, result, sign, other);
      int shift = rescaled.factor().shift();
      if (shift < 0) {
        a.emit(VectorShift.VPSRAD, sign, result, Integer.SIZE - 1);
        a.emit(Binary.VPADDD, result, result, sign);
        // Half of the divisor might be too much for what it joins: it is 1 before the last bit
        // goes.
        if (shift < -1) {
          a.emit(VectorShift.VPSRAD, result, result, -shift - 1);
        }
        a.emit(Binary.VPADDD, result, result, all(emitter, 1));
        a.emit(VectorShift.VPSRAD, result, result, 1);
      }
      IntRange range = rescaled.range();
      if (range.max() < Integer.MAX_VALUE) {
        a.emit(Binary.VPMINSD, result, result, all(emitter, range.max()));
        a.emit(Binary.VPMAXSD, result, result, all(emitter, range.min()));
      }
      if (rescaled.zeroPoint() != 0) {
        a.emit(Binary.VPADDD, result, result, all(emitter, rescaled.zeroPoint()));
      }
    }

    private static Address all(Emitter emitter, int value) {
      return emitter.all(Float.intBitsToFloat(value));
    }
  }

  /**
   * A function of two elements.
   *
   * @param activation of floats, which the result becomes in the end
   */
  record Paired(Pair pair, FusedActivation activation) implements ElementFunction {
    @Override
    public int operands() {
      return pair == Pair.FIRST ? 1 : 2;
    }

    @Override
    public boolean isShort() {
      return pair.isTruth() || pair == Pair.INT_FLOOR_DIV;
    }

    @Override
    public boolean isTruth() {
      return pair.isTruth();
    }

    @Override
    public void emit(Emitter emitter, Vector result, List<Vector> operands, int scratch) {
      compute(emitter, result, operands.getFirst(), operands.getLast(), scratch);
      Vector low = new Vector(result.length(), scratch);
      Vector high = new Vector(result.length(), scratch + 1);
      emitter.loadBounds(activation, low, high);
      emitter.clamp(activation, result, low, high);
    }

    private void compute(Emitter emitter, Vector result, Vector first, Vector second, int scratch) {
      Assembler a = emitter.assembler();
      Vector other = new Vector(result.length(), scratch + 2);
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
        case MAXIMUM, MINIMUM ->
            emitter.replace(Predicate.UNORDERED, first, first, result, first, other);
        case SQUARED_DIFFERENCE -> a.emit(Binary.VMULPS, result, result, result);
        case INT_SQUARED_DIFFERENCE -> a.emit(Binary.VPMULLD, result, result, result);
        case FLOOR_DIV -> a.vroundps(result, result, Rounding.DOWN);
        case PRELU -> {
          a.emit(Binary.VXORPS, other, other, other);
          emitter.replace(
              Predicate.GREATER_OR_EQUAL,
              first,
              other,
              result,
              first,
              new Vector(result.length(), scratch + 3));
        }
        case POW -> {
          a.emit(Move.VMOVUPS, result, first);
          Vector argument = new Vector(result.length(), scratch);
          new FloatMath(emitter, scratch + 3).pow(result, second, argument, other);
        }
        case INT_FLOOR_DIV -> floorDivide(a, first, second, result, scratch + 2);
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
    private static void floorDivide(
        Assembler a, Vector first, Vector second, Vector result, int scratch) {
      Vector dividend = new Vector(Length.YMM, scratch);
      Vector divisor = new Vector(Length.YMM, scratch + 1);
      Vector half = new Vector(Length.XMM, scratch + 2);
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
  }
}
