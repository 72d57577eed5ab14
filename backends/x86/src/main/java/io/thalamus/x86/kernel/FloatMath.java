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
 * Functions of a vector of floats that have no instruction: {@code log}, {@code sin}, {@code erf},
 * {@code pow}, and {@code exp} with its ends. Each replaces x and changes registers from a number
 * on, {@link #SCRATCH} at most. NaN gives NaN. Not thread-safe.
 */
final class FloatMath {
  /** Registers that a function changes beside its operands. */
  static final int SCRATCH = 6;

  private static final float LN2 = 0.69314718056f;
  private static final float LN2_HIGH = 0.693359375f;
  private static final float LN2_LOW = -2.12194440e-4f;
  private static final float LOG2_E = 1.44269504088896341f;

  /** What {@link #LOG2_E} lacks. */
  private static final float LOG2_E_TAIL = (float) (1 / Math.log(2) - LOG2_E);

  private static final int EXPONENT = 23;

  /** The bits of a half's square root: mantissas lie between it and its double. */
  private static final int ROOT_OF_HALF = 0x3F3504F3;

  /** The coefficients of Cephes' logf for {@code (log(1 + f) - f + f^2 / 2) / f^3}. */
  private static final float[] LOG = {
    7.0376836292e-2f,
    -1.1514610310e-1f,
    1.1676998740e-1f,
    -1.2420140846e-1f,
    1.4249322787e-1f,
    -1.6668057665e-1f,
    2.0000714765e-1f,
    -2.4999993993e-1f,
    3.3333331174e-1f
  };

  /** Taylor's for {@code (sin(x) / x - 1) / x^2}, good to 2^-24 up to a quarter of a turn. */
  private static final float[] SIN = {
    1.60590438e-10f,
    -2.50521084e-8f,
    2.75573192e-6f,
    -1.98412698e-4f,
    8.33333333e-3f,
    -1.66666667e-1f
  };

  /** Half a turn, in three parts whose products with numbers up to 2^10 are exact. */
  private static final float[] PI = {3.140625f, 9.67502593994140625e-4f, 1.509957990978376e-7f};

  private static final float ONE_BY_PI = 0.31830988618f;

  /** The least argument for which erf is 1 in float. */
  private static final float LARGEST_ERF = 3.832506856900711f;

  /** Numerator and denominator of {@code erf(x) / x} in {@code x^2}, as in Eigen. */
  private static final float[] ERF_ABOVE = {
    0.00022905065861350646f,
    0.0034082910107109506f,
    0.050955695062380861f,
    0.18520832239976145f,
    1.128379143519084f
  };

  private static final float[] ERF_BELOW = {
    -1.1791602954361697e-7f,
    0.000023547966471313185f,
    0.0010179625278914885f,
    0.014070470171167667f,
    0.11098505178285362f,
    0.49746925110067538f,
    1
  };

  /** Powers of 2 that are beyond the range of floats, while those of their halves are not. */
  private static final float MOST_DOUBLINGS = 252;

  private final Emitter emitter;
  private final Assembler a;
  private final Vector[] scratch = new Vector[SCRATCH];

  FloatMath(Emitter emitter, int first) {
    this.emitter = emitter;
    a = emitter.assembler();
    for (int i = 0; i < SCRATCH; i++) {
      scratch[i] = emitter.vector(first + i);
    }
  }

  private void set(Vector to, float value) {
    a.load(Move.VMOVUPS, to, emitter.all(value));
  }

  /** Puts a number where a comparison holds. */
  private void replace(Predicate predicate, Vector first, Vector second, Vector to, Vector with) {
    emitter.replace(predicate, first, second, to, with, scratch[SCRATCH - 1]);
  }

  private void polynomial(Vector sum, Vector x, float[] factors) {
    set(sum, factors[0]);
    for (int i = 1; i < factors.length; i++) {
      a.emit(Binary.VFMADD213PS, sum, x, emitter.all(factors[i]));
    }
  }

  /** Replaces x by e^x, also where that is infinite or 0. */
  void exp(Vector x) {
    Vector argument = scratch[2];
    Vector bound = scratch[3];
    Vector value = scratch[4];
    a.emit(Move.VMOVUPS, argument, x);
    Exponential.emit(emitter, x, scratch[0], scratch[1]);
    set(bound, Exponential.MOST);
    set(value, Float.POSITIVE_INFINITY);
    replace(Predicate.GREATER, argument, bound, x, value);
    set(bound, Exponential.LEAST);
    a.emit(Binary.VXORPS, value, value, value);
    replace(Predicate.LESS, argument, bound, x, value);
  }

  /** Replaces x by {@code max(0, x) + min(0, alpha * (e^x - 1))}. */
  void elu(Vector x, float alpha) {
    Vector positive = scratch[2];
    Vector zero = scratch[3];
    a.emit(Binary.VXORPS, zero, zero, zero);
    a.emit(Binary.VMAXPS, positive, zero, x);
    Exponential.emit(emitter, x, scratch[0], scratch[1]);
    a.emit(Binary.VSUBPS, x, x, emitter.all(1));
    a.emit(Binary.VMULPS, x, x, emitter.all(alpha));
    a.emit(Binary.VMINPS, x, x, zero);
    a.emit(Binary.VADDPS, x, x, positive);
  }

  /**
   * Splits x, positive, into a power of 2, to which it sets {@code exponent}, and a mantissa, whose
   * natural logarithm it becomes; changes the first three registers.
   */
  private void split(Vector x, Vector exponent) {
    Vector y = scratch[0];
    Vector square = scratch[1];
    Vector bits = scratch[2];
    // Below 2^-126 there are fewer bits: such numbers are multiplied by 2^23.
    set(y, Float.MIN_NORMAL);
    a.emit(Binary.VXORPS, exponent, exponent, exponent);
    set(bits, EXPONENT);
    replace(Predicate.LESS, x, y, exponent, bits);
    a.emit(Binary.VMULPS, square, x, emitter.all(1 << EXPONENT));
    replace(Predicate.LESS, x, y, x, square);
    a.load(Move.VMOVUPS, y, emitter.all(Float.intBitsToFloat(ROOT_OF_HALF)));
    a.emit(Binary.VPSUBD, bits, x, y);
    a.emit(VectorShift.VPSRAD, bits, bits, EXPONENT);
    a.emit(VectorShift.VPSLLD, y, bits, EXPONENT);
    a.emit(Binary.VPSUBD, x, x, y);
    a.emit(Unary.VCVTDQ2PS, bits, bits);
    a.emit(Binary.VSUBPS, exponent, bits, exponent);
    a.emit(Binary.VSUBPS, x, x, emitter.all(1));
    polynomial(y, x, LOG);
    a.emit(Binary.VMULPS, square, x, x);
    a.emit(Binary.VMULPS, y, y, square);
    a.emit(Binary.VMULPS, y, y, x);
    a.load(Move.VMOVUPS, bits, emitter.all(-0.5f));
    a.emit(Binary.VFMADD231PS, y, square, bits);
    // x + y is the logarithm; what adds to it may add to the smaller one first.
  }

  /** Replaces x by its natural logarithm. */
  void log(Vector x) {
    Vector exponent = scratch[3];
    Vector argument = scratch[4];
    a.emit(Move.VMOVUPS, argument, x);
    split(x, exponent);
    Vector y = scratch[0];
    Vector value = scratch[1];
    set(value, LN2_LOW);
    a.emit(Binary.VFMADD231PS, y, exponent, value);
    a.emit(Binary.VADDPS, x, x, y);
    set(value, LN2_HIGH);
    a.emit(Binary.VFMADD231PS, x, exponent, value);
    Vector bound = scratch[2];
    set(bound, Float.POSITIVE_INFINITY);
    replace(Predicate.EQUAL, argument, bound, x, bound);
    a.emit(Binary.VXORPS, bound, bound, bound);
    set(value, Float.NEGATIVE_INFINITY);
    replace(Predicate.EQUAL, argument, bound, x, value);
    set(value, Float.NaN);
    replace(Predicate.NOT_GREATER_OR_EQUAL, argument, bound, x, value);
  }

  /** Replaces x by its sine, as good as float's representation of half turns allows. */
  void sin(Vector x) {
    Vector turns = scratch[0];
    Vector y = scratch[1];
    Vector square = scratch[2];
    a.emit(Binary.VMULPS, turns, x, emitter.all(ONE_BY_PI));
    a.vroundps(turns, turns, Rounding.NEAREST);
    for (float part : PI) {
      a.emit(Binary.VFNMADD231PS, x, turns, emitter.all(part));
    }
    a.emit(Binary.VMULPS, square, x, x);
    polynomial(y, square, SIN);
    a.emit(Binary.VMULPS, square, square, x);
    a.emit(Binary.VFMADD231PS, x, y, square);
    // Odd half turns change the sign.
    a.emit(Unary.VCVTPS2DQ, turns, turns);
    a.emit(VectorShift.VPSLLD, turns, turns, Integer.SIZE - 1);
    a.emit(Binary.VXORPS, x, x, turns);
  }

  /** Replaces x by the error function of it. */
  void erf(Vector x) {
    Vector above = scratch[0];
    Vector below = scratch[1];
    Vector square = scratch[2];
    set(above, LARGEST_ERF);
    a.emit(Binary.VMINPS, x, above, x);
    set(above, -LARGEST_ERF);
    a.emit(Binary.VMAXPS, x, above, x);
    a.emit(Binary.VMULPS, square, x, x);
    polynomial(above, square, ERF_ABOVE);
    polynomial(below, square, ERF_BELOW);
    a.emit(Binary.VMULPS, x, x, above);
    a.emit(Binary.VDIVPS, x, x, below);
  }

  /**
   * Replaces x by {@code x^y}, as Java's {@code Math.pow} defines its special cases; y stays.
   *
   * @param argument another register, which it changes
   * @param total the same
   */
  void pow(Vector x, Vector y, Vector argument, Vector total) {
    Vector exponent = scratch[3];
    Vector bound = scratch[4];
    a.emit(Move.VMOVUPS, argument, x);
    a.emit(Binary.VANDPS, x, x, emitter.all(Float.intBitsToFloat(Integer.MAX_VALUE)));
    Vector size = total;
    a.emit(Move.VMOVUPS, size, x);
    split(x, exponent);
    // The logarithm to base 2 of the mantissa: the head, and in x the tail that it has no bits for.
    Vector sum = scratch[1];
    Vector head = scratch[2];
    a.emit(Binary.VADDPS, sum, x, scratch[0]);
    a.emit(Binary.VSUBPS, x, x, sum);
    a.emit(Binary.VADDPS, x, x, scratch[0]);
    a.emit(Binary.VMULPS, x, x, emitter.all(LOG2_E));
    a.emit(Binary.VFMADD231PS, x, sum, emitter.all(LOG2_E_TAIL));
    product(head, scratch[0], x, sum, emitter.vectorOf(LOG2_E, bound));
    a.emit(Binary.VXORPS, bound, bound, bound);
    set(scratch[1], Float.NEGATIVE_INFINITY);
    replace(Predicate.EQUAL, size, bound, exponent, scratch[1]);
    set(bound, Float.POSITIVE_INFINITY);
    replace(Predicate.EQUAL, size, bound, exponent, bound);
    a.emit(Binary.VADDPS, total, head, exponent);
    a.emit(Binary.VMULPS, total, total, y);
    Vector whole = scratch[5];
    a.vroundps(whole, total, Rounding.NEAREST);
    set(scratch[0], MOST_DOUBLINGS);
    a.emit(Binary.VMINPS, whole, whole, scratch[0]);
    set(scratch[0], -MOST_DOUBLINGS);
    a.emit(Binary.VMAXPS, whole, whole, scratch[0]);
    // 2^whole times 2^rest: large products cancel each other before what they lost is added.
    a.emit(Binary.VMULPS, x, x, y);
    product(scratch[0], bound, x, head, y);
    product(scratch[1], bound, x, exponent, y);
    a.emit(Binary.VSUBPS, scratch[1], scratch[1], whole);
    a.emit(Binary.VADDPS, scratch[1], scratch[1], scratch[0]);
    a.emit(Binary.VADDPS, x, x, scratch[1]);
    a.emit(Binary.VMULPS, x, x, emitter.all(LN2));
    Exponential.emit(emitter, x, scratch[0], scratch[1]);
    // Two factors: the result may be beyond the range, or have fewer bits, when one is not.
    a.emit(Unary.VCVTPS2DQ, whole, whole);
    a.emit(VectorShift.VPSRAD, scratch[0], whole, 1);
    a.emit(Binary.VPSUBD, whole, whole, scratch[0]);
    for (Vector half : new Vector[] {scratch[0], whole}) {
      a.emit(Binary.VPADDD, half, half, emitter.all(Float.intBitsToFloat(Float.MAX_EXPONENT)));
      a.emit(VectorShift.VPSLLD, half, half, EXPONENT);
      a.emit(Binary.VMULPS, x, x, half);
    }
    set(bound, MOST_DOUBLINGS);
    set(exponent, Float.POSITIVE_INFINITY);
    replace(Predicate.GREATER_OR_EQUAL, total, bound, x, exponent);
    set(bound, -MOST_DOUBLINGS);
    a.emit(Binary.VXORPS, exponent, exponent, exponent);
    replace(Predicate.LESS, total, bound, x, exponent);
    sign(x, y, argument);
    replace(Predicate.UNORDERED, argument, y, x, emitter.vectorOf(Float.NaN, exponent));
    a.emit(Binary.VXORPS, bound, bound, bound);
    replace(Predicate.EQUAL, y, bound, x, emitter.vectorOf(1, exponent));
  }

  /** Sets a register to a product, and adds to {@code lost} what the product has no bits for. */
  private void product(Vector product, Vector spare, Vector lost, Vector left, Vector right) {
    a.emit(Binary.VMULPS, product, left, right);
    a.emit(Binary.VMULPS, spare, product, emitter.all(-1));
    a.emit(Binary.VFMADD231PS, spare, left, right);
    a.emit(Binary.VADDPS, lost, lost, spare);
  }

  /** Gives a power of the base's size the sign that the base demands. */
  private void sign(Vector x, Vector y, Vector argument) {
    Vector half = scratch[0];
    Vector floor = scratch[1];
    Vector changed = scratch[2];
    Vector value = scratch[3];
    Vector sign = scratch[4];
    // Odd exponents keep the sign of the base.
    a.emit(Binary.VMULPS, half, y, emitter.all(0.5f));
    a.vroundps(floor, half, Rounding.DOWN);
    a.emit(Binary.VSUBPS, half, half, floor);
    a.emit(Binary.VANDPS, sign, argument, emitter.all(-0f));
    a.emit(Binary.VORPS, changed, x, sign);
    replace(Predicate.EQUAL, half, emitter.vectorOf(0.5f, value), x, changed);
    // Other numbers than whole ones have no power of a negative base, but of an infinite one.
    a.vroundps(floor, y, Rounding.DOWN);
    a.emit(Move.VMOVUPS, changed, x);
    replace(Predicate.NOT_EQUAL, floor, y, changed, emitter.vectorOf(Float.NaN, value));
    set(value, Float.NEGATIVE_INFINITY);
    replace(Predicate.EQUAL, argument, value, changed, x);
    a.emit(Binary.VXORPS, value, value, value);
    replace(Predicate.LESS, argument, value, x, changed);
  }
}
