// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.operations.FixedPoint.roundingDivideByPowerOfTwo;
import static io.thalamus.operations.FixedPoint.saturatingRoundingDoublingHighMul;

/**
 * The transcendental functions of gemmlowp's fixedpoint.h, equal to the bit. A fixed-point number
 * with {@code i} integer bits is an int that stands for {@code raw / 2^(31 - i)}.
 */
public final class FixedPointFunctions {
  /** 1 with no integer bits: the largest number below 1. */
  private static final int ONE = Integer.MAX_VALUE;

  /** exp(-2^k) for k = -2 to 4, with no integer bits. */
  private static final int[] EXP_OF_MINUS_POWER = {
    1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242
  };

  private static final int EXP_OF_MINUS_EIGHTH = 1895147668;
  private static final int THIRD = 715827883;

  /** 48/17 and -32/17 with 2 integer bits: the linear start of Newton's method for 1/x. */
  private static final int DIVISION_START = 1515870810;

  private static final int DIVISION_SLOPE = -1010580540;

  private static final int HALF_ROOT_OF_TWO = 1518500250;

  private FixedPointFunctions() {}

  /**
   * {@code exp(a)} for {@code a <= 0}.
   *
   * @param a with {@code integerBits} integer bits, at most 5
   * @return with no integer bits
   */
  public static int expOnNegative(int a, int integerBits) {
    if (a == 0) {
      return ONE;
    }
    int fractionBits = 31 - integerBits;
    int quarter = 1 << (fractionBits - 2);
    int inQuarter = (a & (quarter - 1)) - quarter;
    int result = expOnMinusQuarterToZero(inQuarter << integerBits);
    int rest = inQuarter - a;
    for (int k = -2; k < integerBits; k++) {
      if ((rest & (1 << (fractionBits + k))) != 0) {
        result = saturatingRoundingDoublingHighMul(result, EXP_OF_MINUS_POWER[k + 2]);
      }
    }
    return result;
  }

  /** Taylor's series around -1/8 to the fourth power. */
  private static int expOnMinusQuarterToZero(int a) {
    int x = a + (1 << 28);
    int x2 = saturatingRoundingDoublingHighMul(x, x);
    int x3 = saturatingRoundingDoublingHighMul(x2, x);
    int x4 = saturatingRoundingDoublingHighMul(x2, x2);
    int x4Quarter = roundingDivideByPowerOfTwo(x4, 2);
    int higherTerms =
        roundingDivideByPowerOfTwo(
            saturatingRoundingDoublingHighMul(x4Quarter + x3, THIRD) + x2, 1);
    return saturate(
        EXP_OF_MINUS_EIGHTH
            + (long) saturatingRoundingDoublingHighMul(EXP_OF_MINUS_EIGHTH, x + higherTerms));
  }

  /**
   * {@code 1 / (1 + a)} for {@code a} in [0, 1).
   *
   * @param a with no integer bits
   * @return with no integer bits
   */
  public static int oneOverOnePlus(int a) {
    return saturate((long) reciprocalOfHalfOnePlus(a) << 1);
  }

  /** {@code (1 - a) / (1 + a)}, that is 2 / (1 + a) - 1, for {@code a} in [0, 1). */
  private static int oneMinusOverOnePlus(int a) {
    return saturate((long) (reciprocalOfHalfOnePlus(a) - (1 << 29)) << 2);
  }

  /** {@code 2 / (1 + a)} with 2 integer bits, by three of Newton's steps. */
  private static int reciprocalOfHalfOnePlus(int a) {
    int half = (int) (((long) a + ONE + 1) / 2);
    int x = DIVISION_START + saturatingRoundingDoublingHighMul(half, DIVISION_SLOPE);
    for (int i = 0; i < 3; i++) {
      int error = (1 << 29) - saturatingRoundingDoublingHighMul(half, x);
      x += saturate((long) saturatingRoundingDoublingHighMul(x, error) << 2);
    }
    return x;
  }

  /** {@code 1 / (1 + exp(-a))}; the argument with 4 integer bits, the result with none. */
  static int logistic(int a) {
    if (a == 0) {
      return 1 << 30;
    }
    int ofAbsolute = oneOverOnePlus(expOnNegative(-Math.abs(a), 4));
    return a > 0 ? ofAbsolute : ONE - ofAbsolute;
  }

  /** {@code tanh(a)}; the argument with 4 integer bits, the result with none. */
  static int tanh(int a) {
    if (a == 0) {
      return 0;
    }
    // Read with one integer bit more, the same bits stand for twice the number.
    int ofAbsolute = oneMinusOverOnePlus(expOnNegative(-Math.abs(a), 5));
    return a > 0 ? ofAbsolute : -ofAbsolute;
  }

  /**
   * {@code 1 / sqrt(value)} as TensorFlow Lite's GetInvSqrtQuantizedMultiplierExp has it, by five
   * of Newton's steps; 0 counts as 1.
   *
   * @param value not negative
   */
  public static Requantization inverseSquareRoot(int value) {
    if (value <= 1) {
      return new Requantization(ONE, 0, Requantization.Rounding.DOUBLE);
    }
    // The value is brought into [2^27, 2^29) by steps of 4, each of which halves the result.
    int rightShift = 11;
    int scaled = value;
    while (scaled >= 1 << 29) {
      scaled /= 4;
      rightShift++;
    }
    int pairs = (Integer.numberOfLeadingZeros(scaled) - 1) / 2 - 1;
    rightShift -= pairs;
    scaled <<= 2 * pairs;
    // From here on numbers have 3 integer bits.
    int half = roundingDivideByPowerOfTwo(scaled >> 1, 1);
    int threeHalves = (1 << 28) + (1 << 27);
    int x = 1 << 28;
    for (int i = 0; i < 5; i++) {
      int square = saturatingRoundingDoublingHighMul(x, x);
      int cube = saturate((long) saturatingRoundingDoublingHighMul(square, x) << 6);
      x =
          saturate(
              ((long) saturatingRoundingDoublingHighMul(threeHalves, x)
                      - saturatingRoundingDoublingHighMul(half, cube))
                  << 3);
    }
    int root = saturatingRoundingDoublingHighMul(x, HALF_ROOT_OF_TWO);
    return rightShift < 0
        ? new Requantization(root << -rightShift, 0, Requantization.Rounding.DOUBLE)
        : new Requantization(root, -rightShift, Requantization.Rounding.DOUBLE);
  }

  /**
   * The largest difference of stored values that, shifted and scaled, still fits a fixed-point
   * number: TensorFlow Lite's CalculateInputRadius.
   */
  static int radius(int integerBits, int leftShift) {
    double largest = ((1 << integerBits) - 1) * (double) (1L << (31 - integerBits));
    return (int) Math.floor(largest / Math.scalb(1.0, leftShift));
  }

  private static int saturate(long value) {
    return Math.clamp(value, Integer.MIN_VALUE, Integer.MAX_VALUE);
  }
}
