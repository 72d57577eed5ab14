// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.operations.FixedPoint.roundingDivideByPowerOfTwo;

import java.util.function.IntUnaryOperator;

/**
 * Arithmetic of gemmlowp's fixedpoint.h in 16 bits, equal to the bit. A fixed-point number with
 * {@code i} integer bits is a short that stands for {@code raw / 2^(15 - i)}; it travels in an int.
 */
public final class FixedPoint16 {
  /** 1 with no integer bits: the largest number below 1. */
  public static final int ONE = Short.MAX_VALUE;

  /** exp(-2^k) for k = -2 to 4, with no integer bits. */
  private static final int[] EXP_OF_MINUS_POWER = {
    constant(1672461947),
    constant(1302514674),
    constant(790015084),
    constant(290630308),
    constant(39332535),
    constant(720401),
    constant(242)
  };

  private static final int EXP_OF_MINUS_EIGHTH = constant(1895147668);
  private static final int THIRD = constant(715827883);

  /** 48/17 and -32/17 with 2 integer bits: the linear start of Newton's method for 1/x. */
  private static final int DIVISION_START = constant(1515870810);

  private static final int DIVISION_SLOPE = constant(-1010580540);

  /** 1 with 2 integer bits. */
  private static final int ONE_OF_TWO_BITS = 1 << 13;

  private FixedPoint16() {}

  private static int constant(int of32Bits) {
    return roundingDivideByPowerOfTwo(of32Bits, 16);
  }

  /** The nearest short. */
  public static int saturate(int value) {
    return Math.clamp(value, Short.MIN_VALUE, Short.MAX_VALUE);
  }

  /** The product; its integer bits are those of both factors together. */
  public static int multiply(int a, int b) {
    if (a == b && a == Short.MIN_VALUE) {
      return Short.MAX_VALUE;
    }
    int product = a * b;
    int nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
    return (product + nudge) / (1 << 15);
  }

  /** {@code value * 2^exponent}, rounded and saturated: the same number with fewer integer bits. */
  public static int multiplyByPowerOfTwo(int value, int exponent) {
    return exponent <= 0
        ? roundingDivideByPowerOfTwo(value, -exponent)
        : saturate(value << exponent);
  }

  /** {@code exp(a)} for {@code a <= 0}; the result with no integer bits. */
  private static int expOnNegative(int a, int integerBits) {
    // Below -32 nothing is left of the exponential.
    if (integerBits > 5 && a < constant(-(1 << (36 - integerBits)))) {
      return 0;
    }
    if (a == 0) {
      return ONE;
    }
    int fractionBits = 15 - integerBits;
    int quarter = 1 << (fractionBits - 2);
    int inQuarter = (a & (quarter - 1)) - quarter;
    int result = expOnMinusQuarterToZero(multiplyByPowerOfTwo(inQuarter, integerBits));
    int rest = inQuarter - a;
    for (int k = -2; k <= 4 && k < integerBits; k++) {
      if ((rest & 1 << (fractionBits + k)) != 0) {
        result = multiply(result, EXP_OF_MINUS_POWER[k + 2]);
      }
    }
    return result;
  }

  /** Taylor's series around -1/8 to the fourth power. */
  private static int expOnMinusQuarterToZero(int a) {
    int x = a + (1 << 12);
    int x2 = multiply(x, x);
    int x3 = multiply(x2, x);
    int x4 = multiply(x2, x2);
    int x4Quarter = roundingDivideByPowerOfTwo(x4, 2);
    int higherTerms = roundingDivideByPowerOfTwo(multiply(x4Quarter + x3, THIRD) + x2, 1);
    return saturate(EXP_OF_MINUS_EIGHTH + multiply(EXP_OF_MINUS_EIGHTH, x + higherTerms));
  }

  /** {@code 2 / (1 + a)} with 2 integer bits, by three of Newton's steps. */
  private static int reciprocalOfHalfOnePlus(int a) {
    int half = (a + ONE + 1) / 2;
    int x = DIVISION_START + multiply(half, DIVISION_SLOPE);
    for (int i = 0; i < 3; i++) {
      int error = ONE_OF_TWO_BITS - multiply(half, x);
      x += multiplyByPowerOfTwo(multiply(x, error), 2);
    }
    return x;
  }

  /** {@code 1 / (1 + exp(-a))}; the result with no integer bits. */
  public static int logistic(int a, int integerBits) {
    if (a == 0) {
      return constant(1 << 30);
    }
    int exp = expOnNegative(negative(a), integerBits);
    int ofAbsolute = multiplyByPowerOfTwo(reciprocalOfHalfOnePlus(exp), 1);
    return a > 0 ? ofAbsolute : ONE - ofAbsolute;
  }

  /** {@code tanh(a)}; the result with no integer bits. */
  public static int tanh(int a, int integerBits) {
    if (a == 0) {
      return 0;
    }
    // Read with one integer bit more, the same bits stand for twice the number.
    int exp = expOnNegative(negative(a), integerBits + 1);
    int ofAbsolute = multiplyByPowerOfTwo(reciprocalOfHalfOnePlus(exp) - ONE_OF_TWO_BITS, 2);
    return a > 0 ? ofAbsolute : -ofAbsolute;
  }

  /**
   * Returns {@link #logistic} of all shorts, each at the index that its 16 bits are without a sign.
   */
  public static short[] logistics(int integerBits) {
    return table(a -> logistic(a, integerBits), result -> ONE - result);
  }

  /** Returns {@link #tanh} of all shorts, as {@link #logistics} does. */
  public static short[] tanhs(int integerBits) {
    return table(a -> tanh(a, integerBits), result -> -result);
  }

  /**
   * The results at all shorts.
   *
   * @param mirror makes the result at a positive number that at the negative one
   */
  private static short[] table(IntUnaryOperator function, IntUnaryOperator mirror) {
    short[] table = new short[1 << Short.SIZE];
    table[0] = (short) function.applyAsInt(0);
    table[1 << (Short.SIZE - 1)] = (short) function.applyAsInt(Short.MIN_VALUE);
    for (int a = 1; a <= Short.MAX_VALUE; a++) {
      int result = function.applyAsInt(a);
      table[a] = (short) result;
      table[-a & 0xFFFF] = (short) mirror.applyAsInt(result);
    }
    return table;
  }

  private static int negative(int a) {
    return a < 0 ? a : -a;
  }
}
