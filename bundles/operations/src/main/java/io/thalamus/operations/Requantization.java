// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

/**
 * A real factor as a 31-bit mantissa and a power of two, and how products with it are rounded: what
 * turns the accumulator of one scale into a stored value of another. Immutable.
 *
 * @param multiplier mantissa in [2^30, 2^31), negative for a negative factor, or 0 for the factor 0
 * @param shift power of two; positive shifts left
 * @param rounding how often a product is rounded
 */
public record Requantization(int multiplier, int shift, Rounding rounding) {
  /** The rounding of a product. */
  public enum Rounding {
    /** Once, at the end: TensorFlow Lite's FULLY_CONNECTED. */
    SINGLE,
    /** After the multiplication and after the shift: gemmlowp, and CONV_2D of TensorFlow Lite. */
    DOUBLE,
    /**
     * As a float, then to the nearest whole number, of two that are as near the even one: ONNX
     * Runtime. The factor is a float.
     */
    EVEN
  }

  /** Products beyond are larger than all stored values. */
  public static final float LARGEST = 1 << 23;

  /**
   * The positive factor with its mantissa rounded to 31 bits, as TensorFlow Lite's
   * QuantizeMultiplier; to a float first where products are floats.
   */
  public static Requantization of(double real, Rounding rounding) {
    double factor = rounding == Rounding.EVEN ? (float) real : real;
    if (factor == 0) {
      return new Requantization(0, 0, rounding);
    }
    int exponent = Math.getExponent(factor) + 1;
    long mantissa = Math.round(factor * Math.pow(2, -exponent) * (1L << 31));
    if (mantissa == 1L << 31) {
      mantissa /= 2;
      exponent++;
    }
    if (exponent < -31) {
      return new Requantization(0, 0, rounding);
    }
    return new Requantization((int) mantissa, exponent, rounding);
  }

  /** The factor with its sign changed. */
  public Requantization negated() {
    return new Requantization(-multiplier, shift, rounding);
  }

  /** The factor as a float, which it is where {@link Rounding#EVEN} is asked for. */
  public float factor() {
    return Math.scalb((float) multiplier, shift - 31);
  }

  /** The product with the factor, rounded. It must fit an int, and so must the shifted value. */
  public int apply(int value) {
    if (rounding == Rounding.EVEN) {
      return (int) Math.rint(Math.clamp(value * factor(), -LARGEST, LARGEST));
    }
    if (rounding == Rounding.SINGLE) {
      int total = 31 - shift;
      return (int) (((long) value * multiplier + (1L << (total - 1))) >> total);
    }
    int left = Math.max(shift, 0);
    int right = Math.max(-shift, 0);
    return FixedPoint.roundingDivideByPowerOfTwo(
        FixedPoint.saturatingRoundingDoublingHighMul(value << left, multiplier), right);
  }
}
