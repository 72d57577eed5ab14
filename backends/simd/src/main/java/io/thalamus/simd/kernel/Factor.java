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

  /**
   * Multiplies values by a factor in place. Their magnitudes are below 2^30, shifted left as the
   * factor says.
   */
  public static void apply(Requantization factor, int[] values, int from, int count) {
    switch (factor.rounding()) {
      case DOUBLE -> twice(factor.multiplier(), factor.shift(), values, from, from + count);
      case SINGLE -> once(factor.multiplier(), 31 - factor.shift(), values, from, from + count);
      case EVEN -> {
        for (int i = from; i < from + count; i++) {
          values[i] = factor.apply(values[i]);
        }
      }
    }
  }

  private static void twice(int multiplier, int power, int[] values, int from, int end) {
    int left = Math.max(power, 0);
    int right = Math.max(-power, 0);
    int half = (1 << right) >> 1;
    // The second rounding is away from zero.
    int sign = right == 0 ? 0 : -1;
    for (int i = from; i < end; i++) {
      int value = (int) ((long) (values[i] << left) * multiplier + (1L << 30) >> 31);
      values[i] = (value + half + (value >> 31 & sign)) >> right;
    }
  }

  private static void once(int multiplier, int right, int[] values, int from, int end) {
    long half = 1L << right >> 1;
    for (int i = from; i < end; i++) {
      values[i] = (int) ((long) values[i] * multiplier + half >> right);
    }
  }
}
