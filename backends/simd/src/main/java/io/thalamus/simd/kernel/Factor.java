// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.operations.Requantization;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Products of whole arrays with one factor, rounded as {@link Requantization#apply} does it. Those
 * in place are plain loops, which are quick at once: nothing in them has to be inlined, without
 * which each vector would be an object.
 */
public final class Factor {
  private static final long HALF = 1L << 30;
  private static final long LOW = 0xFFFF_FFFFL;

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

  /**
   * Writes products as {@link #twice(int, int, int[], int, int)} rounds them, but by vectors, which
   * the JVM makes none of where products have 64 bits. {@link Requantizer} says how.
   *
   * @param isScalar whether one is rounded after the other
   */
  public static void twice(
      boolean isScalar,
      int multiplier,
      int power,
      int[] in,
      int from,
      int[] out,
      int to,
      int count) {
    int whole = isScalar ? 0 : count / COUNT * COUNT;
    LongVector mantissa = IntVector.broadcast(INTS, multiplier).reinterpretAsLongs();
    LongVector even = mantissa.and(LOW);
    LongVector odd = mantissa.lanewise(VectorOperators.LSHR, Integer.SIZE);
    int left = Math.max(power, 0);
    int right = Math.max(-power - 1, 0);
    int last = power < 0 ? 1 : 0;
    for (int i = 0; i < whole; i += COUNT) {
      LongVector unsigned =
          IntVector.fromArray(INTS, in, from + i)
              .lanewise(VectorOperators.LSHL, left)
              .lanewise(VectorOperators.XOR, Integer.MIN_VALUE)
              .reinterpretAsLongs();
      LongVector evens = unsigned.and(LOW).mul(even).add(HALF).lanewise(VectorOperators.LSHR, 31);
      LongVector odds =
          unsigned
              .lanewise(VectorOperators.LSHR, Integer.SIZE)
              .mul(odd)
              .add(HALF)
              .lanewise(VectorOperators.LSHL, 1)
              .and(~LOW);
      IntVector value = evens.or(odds).reinterpretAsInts().sub(multiplier);
      value
          .add(value.lanewise(VectorOperators.ASHR, 31).and(-last))
          .lanewise(VectorOperators.ASHR, right)
          .add(last)
          .lanewise(VectorOperators.ASHR, last)
          .intoArray(out, to + i);
    }
    System.arraycopy(in, from + whole, out, to + whole, count - whole);
    twice(multiplier, power, out, to + whole, count - whole);
  }

  private static void once(int multiplier, int right, int[] values, int from, int end) {
    long half = 1L << right >> 1;
    for (int i = from; i < end; i++) {
      values[i] = (int) ((long) values[i] * multiplier + half >> right);
    }
  }
}
