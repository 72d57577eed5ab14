// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Binary;
import io.thalamus.x86.asm.Move;
import io.thalamus.x86.asm.Predicate;
import io.thalamus.x86.asm.Rounding;
import io.thalamus.x86.asm.Unary;
import io.thalamus.x86.asm.Vector;
import io.thalamus.x86.asm.VectorShift;

/**
 * A function of each float, or each integer of 32 bits, of a run.
 *
 * @param kind of function
 * @param count floats of the run
 * @param parameter of ELU: the factor of what is negative
 */
public record Mapped(Kind kind, int count, float parameter) implements FunctionSource {
  /** The function. NaN gives NaN. */
  public enum Kind {
    SQUARE,
    CUBE,
    LOGISTIC,
    /** The number times LOGISTIC of it. */
    SWISH,
    TANH,
    HARD_SWISH,
    ABS,
    NEG,
    SQRT,
    RSQRT,
    EXP,
    LOG,
    SIN,
    FLOOR,
    ERF,
    ELU,
    INT_ABS,
    INT_NEG,
    /** Floats made integers in the same order, both zeros the same, NaN the least. */
    INT_OF_ORDER,
    /** The reverse. */
    FLOAT_OF_ORDER
  }

  /** A function without a parameter. */
  public Mapped(Kind kind, int count) {
    this(kind, count, 0);
  }

  /** Returns the function: o0 is the source, o1 the result. */
  @Override
  public Function write(Emitter emitter) {
    ElementFunction function = new ElementFunction.Single(kind, parameter);
    return Chain.of(function, count, new Chain.Source(false, 0)).write(emitter);
  }

  /** Has negative floats, as integers, grow with their size, or does the reverse. */
  private static void reorder(Emitter emitter, Vector x, Vector s) {
    Assembler a = emitter.assembler();
    a.emit(VectorShift.VPSRAD, s, x, Integer.SIZE - 1);
    a.emit(Binary.VANDPS, s, s, emitter.all(Float.intBitsToFloat(Integer.MAX_VALUE)));
    a.emit(Binary.VXORPS, x, x, s);
  }

  /**
   * Replaces x by a function of it; changes two other registers.
   *
   * @param scratch the first of {@link FloatMath#SCRATCH} registers that may change too
   */
  static void map(
      Emitter emitter, Kind kind, float parameter, Vector x, Vector s, Vector t, int scratch) {
    Assembler a = emitter.assembler();
    FloatMath math = new FloatMath(emitter, scratch);
    switch (kind) {
      case SQUARE -> a.emit(Binary.VMULPS, x, x, x);
      case CUBE -> {
        a.emit(Binary.VMULPS, s, x, x);
        a.emit(Binary.VMULPS, x, s, x);
      }
      case EXP -> math.exp(x);
      case LOG -> math.log(x);
      case SIN -> math.sin(x);
      case ERF -> math.erf(x);
      case ELU -> math.elu(x, parameter);
      case FLOOR -> a.vroundps(x, x, Rounding.DOWN);
      case SWISH -> {
        Vector number = emitter.vector(scratch);
        a.emit(Move.VMOVUPS, number, x);
        map(emitter, Kind.LOGISTIC, parameter, x, s, t, scratch);
        a.emit(Binary.VMULPS, x, x, number);
      }
      case LOGISTIC -> {
        a.emit(Binary.VXORPS, x, x, emitter.all(-0f));
        Exponential.emit(emitter, x, s, t);
        a.emit(Binary.VADDPS, x, x, emitter.all(1));
        a.load(Move.VMOVUPS, t, emitter.all(1));
        a.emit(Binary.VDIVPS, x, t, x);
      }
      case TANH -> {
        // 1 - 2 / (1 + e^2x): off by some 10^-7 where the result is near 0.
        a.emit(Binary.VADDPS, x, x, x);
        Exponential.emit(emitter, x, s, t);
        a.emit(Binary.VADDPS, x, x, emitter.all(1));
        a.load(Move.VMOVUPS, t, emitter.all(2));
        a.emit(Binary.VDIVPS, x, t, x);
        a.load(Move.VMOVUPS, t, emitter.all(1));
        a.emit(Binary.VSUBPS, x, t, x);
      }
      case HARD_SWISH -> {
        a.emit(Binary.VADDPS, s, x, emitter.all(3));
        a.emit(Binary.VXORPS, t, t, t);
        a.emit(Binary.VMAXPS, s, t, s);
        a.load(Move.VMOVUPS, t, emitter.all(6));
        a.emit(Binary.VMINPS, s, t, s);
        a.emit(Binary.VMULPS, x, x, s);
        a.emit(Binary.VDIVPS, x, x, emitter.all(6));
      }
      case ABS -> a.emit(Binary.VANDPS, x, x, emitter.all(Float.intBitsToFloat(~(1 << 31))));
      case NEG -> a.emit(Binary.VXORPS, x, x, emitter.all(-0f));
      case INT_OF_ORDER -> {
        Vector number = emitter.vector(scratch);
        Vector least = emitter.vector(scratch + 1);
        a.emit(Binary.VXORPS, s, s, s);
        a.emit(Binary.VADDPS, x, x, s);
        a.emit(Move.VMOVUPS, number, x);
        reorder(emitter, x, s);
        emitter.vectorOf(Float.intBitsToFloat(Integer.MIN_VALUE), least);
        emitter.replace(Predicate.UNORDERED, number, number, x, least, t);
      }
      case FLOAT_OF_ORDER -> reorder(emitter, x, s);
      case INT_ABS -> a.emit(Unary.VPABSD, x, x);
      case INT_NEG -> {
        a.emit(Binary.VXORPS, s, s, s);
        a.emit(Binary.VPSUBD, x, s, x);
      }
      case SQRT -> a.emit(Unary.VSQRTPS, x, x);
      case RSQRT -> {
        a.emit(Unary.VSQRTPS, x, x);
        a.load(Move.VMOVUPS, t, emitter.all(1));
        a.emit(Binary.VDIVPS, x, t, x);
      }
    }
  }
}
