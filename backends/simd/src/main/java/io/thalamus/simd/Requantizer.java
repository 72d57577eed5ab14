// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.simd.Lanes.COUNT;
import static io.thalamus.simd.Lanes.INTS;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Turns integer sums into stored results, in exact integer arithmetic and equal to {@link
 * Requantization#apply} to the bit. Immutable and thread-safe.
 *
 * <p>With a sum x and a mantissa m of 31 bits, gemmlowp's first rounding is {@code floor((x * m +
 * 2^30) / 2^31)} for either sign. To multiply 32 by 32 bits in lanes of 64, x is made unsigned by
 * adding 2^31, which adds exactly m to the result; even and odd lanes are multiplied apart and put
 * together again. The second rounding is away from zero: {@code (v + half - (v < 0)) >> shift}.
 */
final class Requantizer {
  /** Sums beyond could overflow when rounded. */
  private static final long LARGEST_SUM = 1L << 30;

  private final Accumulation accumulation;
  private final int[] bias;
  private final boolean vectorized;
  private final int[] mantissas;
  private final int[] shifts;

  /** By channel: half of the divisor 2^shift. */
  private final int[] halves;

  /** By channel: -1 where there is a second rounding. */
  private final int[] signs;

  /**
   * Factors by channel.
   *
   * @param bias added to each sum, by channel
   * @param largest that a sum without bias can be, either sign
   */
  Requantizer(Accumulation accumulation, int[] bias, long largest) {
    this.accumulation = accumulation;
    int channels = bias.length;
    int size = Lanes.roundUp(channels) + Lanes.SLACK;
    this.bias = java.util.Arrays.copyOf(bias, size);
    mantissas = new int[size];
    shifts = new int[size];
    halves = new int[size];
    signs = new int[size];
    boolean possible = true;
    for (int c = 0; c < channels; c++) {
      Requantization factor = accumulation.output().get(c);
      possible &=
          factor.rounding() == Rounding.DOUBLE
              && factor.shift() <= 0
              && factor.shift() >= -31
              && largest + Math.abs((long) bias[c]) < LARGEST_SUM;
      mantissas[c] = factor.multiplier();
      shifts[c] = Math.clamp(-factor.shift(), 0, 31);
      halves[c] = shifts[c] == 0 ? 0 : 1 << (shifts[c] - 1);
      signs[c] = shifts[c] == 0 ? 0 : -1;
    }
    vectorized = possible;
  }

  /** Whether whole vectors are rounded at a time. */
  boolean isVectorized() {
    return vectorized;
  }

  /**
   * Stores a range of channels of sums that are floats without a fraction.
   *
   * @param isScalar whether one is rounded after the other
   */
  void store(
      boolean isScalar,
      float[] sums,
      int at,
      int firstChannel,
      int endChannel,
      byte[] out,
      int to,
      byte[] spare) {
    int c = firstChannel;
    if (vectorized && !isScalar) {
      int shift = at - firstChannel;
      for (; c <= endChannel - COUNT; c += COUNT) {
        Lanes.toBytes(round(toInts(sums, shift + c), c), out, to + c - firstChannel);
      }
      if (c < endChannel) {
        Lanes.toBytes(round(toInts(sums, shift + c), c), spare, 0);
        System.arraycopy(spare, 0, out, to + c - firstChannel, endChannel - c);
      }
      return;
    }
    for (; c < endChannel; c++) {
      int sum = (int) sums[at + c - firstChannel];
      out[to + c - firstChannel] = (byte) accumulation.stored(sum + bias[c], c);
    }
  }

  /** Stores a range of channels of sums that are integers. */
  void store(
      boolean isScalar,
      int[] sums,
      int at,
      int firstChannel,
      int endChannel,
      byte[] out,
      int to,
      byte[] spare) {
    int c = firstChannel;
    if (vectorized && !isScalar) {
      int shift = at - firstChannel;
      for (; c <= endChannel - COUNT; c += COUNT) {
        Lanes.toBytes(
            round(IntVector.fromArray(INTS, sums, shift + c), c), out, to + c - firstChannel);
      }
      if (c < endChannel) {
        Lanes.toBytes(round(IntVector.fromArray(INTS, sums, shift + c), c), spare, 0);
        System.arraycopy(spare, 0, out, to + c - firstChannel, endChannel - c);
      }
      return;
    }
    for (; c < endChannel; c++) {
      int sum = sums[at + c - firstChannel];
      out[to + c - firstChannel] = (byte) accumulation.stored(sum + bias[c], c);
    }
  }

  private static IntVector toInts(float[] sums, int at) {
    return (IntVector)
        FloatVector.fromArray(Lanes.FLOATS, sums, at).convert(VectorOperators.F2I, 0);
  }

  private IntVector round(IntVector sums, int channel) {
    IntVector mantissa = IntVector.fromArray(INTS, mantissas, channel);
    IntVector value = multiply(sums.add(IntVector.fromArray(INTS, bias, channel)), mantissa);
    return value
        .add(IntVector.fromArray(INTS, halves, channel))
        .add(
            value.lanewise(VectorOperators.ASHR, 31).and(IntVector.fromArray(INTS, signs, channel)))
        .lanewise(VectorOperators.ASHR, IntVector.fromArray(INTS, shifts, channel))
        .add(accumulation.outputZeroPoint())
        .max(accumulation.activation().min())
        .min(accumulation.activation().max());
  }

  /** {@code floor((value * mantissa + 2^30) / 2^31)}, for mantissas that are not negative. */
  static IntVector multiply(IntVector value, IntVector mantissa) {
    LongVector unsigned =
        value.lanewise(VectorOperators.XOR, Integer.MIN_VALUE).reinterpretAsLongs();
    LongVector factors = mantissa.reinterpretAsLongs();
    LongVector even =
        unsigned
            .and(0xFFFF_FFFFL)
            .mul(factors.and(0xFFFF_FFFFL))
            .add(1L << 30)
            .lanewise(VectorOperators.LSHR, 31);
    LongVector odd =
        unsigned
            .lanewise(VectorOperators.LSHR, 32)
            .mul(factors.lanewise(VectorOperators.LSHR, 32))
            .add(1L << 30)
            .lanewise(VectorOperators.LSHL, 1)
            .and(0xFFFF_FFFF_0000_0000L);
    return even.or(odd).reinterpretAsInts().sub(mantissa);
  }
}
