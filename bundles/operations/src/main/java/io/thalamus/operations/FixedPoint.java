// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

/**
 * Integer arithmetic of gemmlowp, which quantized networks are trained for. All results are exact
 * to the bit; see "Quantization and Training of Neural Networks for Efficient
 * Integer-Arithmetic-Only Inference" (Jacob et al., 2018), section 2.2.
 */
public final class FixedPoint {
  private FixedPoint() {}

  /** Rounds to nearest, half away from zero, as C's {@code round}; saturates to int. */
  public static int round(double value) {
    double magnitude = Math.abs(value);
    double whole = Math.floor(magnitude);
    return (int) Math.copySign(magnitude - whole >= 0.5 ? whole + 1 : whole, value);
  }

  /**
   * {@code a * b / 2^31}, rounded to nearest with ties up, as gemmlowp does it; saturates where
   * both are the smallest int.
   */
  public static int saturatingRoundingDoublingHighMul(int a, int b) {
    if (a == b && a == Integer.MIN_VALUE) {
      return Integer.MAX_VALUE;
    }
    long product = (long) a * b;
    long nudge = product >= 0 ? 1L << 30 : 1 - (1L << 30);
    return (int) ((product + nudge) / (1L << 31));
  }

  /**
   * {@code value / 2^exponent}, rounded to nearest with ties away from zero.
   *
   * @param exponent 0 to 31
   */
  public static int roundingDivideByPowerOfTwo(int value, int exponent) {
    int mask = (int) ((1L << exponent) - 1);
    int remainder = value & mask;
    int threshold = (mask >> 1) + (value < 0 ? 1 : 0);
    return (value >> exponent) + (remainder > threshold ? 1 : 0);
  }
}
