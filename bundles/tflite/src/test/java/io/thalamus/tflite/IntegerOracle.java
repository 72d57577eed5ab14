// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import java.math.BigInteger;

/**
 * Products of integers with a real factor as TensorFlow Lite's specification has them: the factor
 * has a mantissa of 31 bits, and both the product with it and its shift are rounded.
 */
final class IntegerOracle {
  private IntegerOracle() {}

  /** The product, which must fit 32 bits before and after it is rounded. */
  static int product(int value, double factor) {
    int shift = Math.getExponent(factor) + 1;
    long mantissa = Math.round(factor / Math.pow(2, shift) * Math.pow(2, 31));
    if (mantissa == 1L << 31) {
      mantissa >>= 1;
      shift++;
    }
    BigInteger shifted = BigInteger.valueOf(value).shiftLeft(Math.max(shift, 0));
    BigInteger doubled = shifted.multiply(BigInteger.valueOf(mantissa));
    // To the nearest integer: of two, the larger one.
    long high = doubled.add(BigInteger.ONE.shiftLeft(30)).shiftRight(31).longValueExact();
    return Math.toIntExact(shift < 0 ? halved(high, -shift) : high);
  }

  /** To the nearest integer: of two, the one farther from 0. */
  private static long halved(long value, int bits) {
    long size = Math.abs(value) + (1L << bits - 1) >> bits;
    return value < 0 ? -size : size;
  }
}
