// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.Requantization.Rounding;

/**
 * {@code x * min(max(x + 3, 0), 6) / 6} on stored values in 16-bit fixed-point arithmetic, equal to
 * the bit to TensorFlow Lite's reference.
 *
 * @param input the argument
 * @param output the result
 * @param toOutput from 1/128 of the input's scale to the output's, with a 16-bit mantissa
 * @param toRamp from 1/128 of the input's scale to the scale where 3 is 2^15, the same
 */
record QuantizedHardSwish(OperandView input, OperandView output, Factor toOutput, Factor toRamp) {
  /** A mantissa with 15 fraction bits, and a power of two. */
  record Factor(short mantissa, int exponent) {
    static Factor of(float factor) {
      Requantization exact = Requantization.of(factor, Rounding.DOUBLE);
      int rounded = (int) (((long) exact.multiplier() + (1 << 15)) >> 16);
      return new Factor((short) Math.min(rounded, Short.MAX_VALUE), exact.shift());
    }
  }

  static QuantizedHardSwish of(OperandView input, OperandView output) throws ValidationException {
    float fine = 1f / 128 * input.scale();
    Factor toOutput = Factor.of(fine / output.scale());
    if (toOutput.exponent() > 0) {
      throw new ValidationException(
          "the output's scale %s is too small for the input's %s"
              .formatted(output.scale(), input.scale()));
    }
    return new QuantizedHardSwish(input, output, toOutput, Factor.of(fine / (3f / 32768)));
  }

  /** The stored result for a stored value. */
  int apply(int stored) {
    int fine = (stored - input.zeroPoint()) << 7;
    int unshifted = roundingDoublingHighMul(fine, toOutput.mantissa());
    int ramp = (ramp(fine) + (1 << 15)) >> 1;
    int product = Math.clamp(ramp * unshifted / (1 << 15), Short.MIN_VALUE, Short.MAX_VALUE);
    int result = FixedPoint.roundingDivideByPowerOfTwo(product, -toOutput.exponent());
    return IntRange.of((OperandCode) output.type()).clamp(result + output.zeroPoint());
  }

  /** The argument cut to [-3, 3], as a number in [-2^15, 2^15). */
  private int ramp(int fine) {
    int exponent = toRamp.exponent();
    if (exponent > 0) {
      // One doubling is left for after the multiplication, which halves.
      int shifted = saturate((long) fine << (exponent - 1));
      return saturate(2L * roundingDoublingHighMul(shifted, toRamp.mantissa()));
    }
    return FixedPoint.roundingDivideByPowerOfTwo(
        roundingDoublingHighMul(fine, toRamp.mantissa()), -exponent);
  }

  private static int roundingDoublingHighMul(int a, int b) {
    int product = a * b;
    return saturate((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
  }

  private static int saturate(long value) {
    return Math.clamp(value, Short.MIN_VALUE, Short.MAX_VALUE);
  }
}
