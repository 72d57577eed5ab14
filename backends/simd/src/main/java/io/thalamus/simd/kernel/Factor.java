// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import io.thalamus.operations.Requantization;

/**
 * Products of whole arrays with one factor, rounded as {@link Requantization#apply} does it. The
 * loops are plain ones, which the JVM makes vectors of: they are quick before it does, and nothing
 * in them has to be inlined, without which each vector would be an object.
 */
public final class Factor {
  private Factor() {}

  /** Multiplies values by a factor in place. */
  public static void apply(Requantization factor, int[] values, int from, int count) {
    switch (factor.rounding()) {
      case DOUBLE -> twice(factor.multiplier(), factor.shift(), values, from, count);
      case SINGLE -> once(factor.multiplier(), 31 - factor.shift(), values, from, from + count);
      case EVEN -> {
        for (int i = from; i < from + count; i++) {
          values[i] = factor.apply(values[i]);
        }
      }
    }
  }

  /**
   * Multiplies values in place by a mantissa of 31 bits and a power of 2; rounds as {@link
   * Requantization.Rounding#DOUBLE}.
   */
  public static void twice(int multiplier, int power, int[] values, int from, int count) {
    int left = Math.max(power, 0);
    // The last bit is shifted out apart: half of the divisor might be too much for what it joins.
    int right = Math.max(-power - 1, 0);
    int last = power < 0 ? 1 : 0;
    for (int i = from; i < from + count; i++) {
      int value = (int) ((long) (values[i] << left) * multiplier + (1L << 30) >> 31);
      // The second rounding is away from zero.
      values[i] = (value + (value >> 31 & -last) >> right) + last >> last;
    }
  }

  private static void once(int multiplier, int right, int[] values, int from, int end) {
    long half = 1L << right >> 1;
    for (int i = from; i < end; i++) {
      values[i] = (int) ((long) values[i] * multiplier + half >> right);
    }
  }
}
