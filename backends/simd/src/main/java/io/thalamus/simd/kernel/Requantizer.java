// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import java.util.stream.IntStream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Turns integer sums into stored results, equal to {@link Requantization#apply} to the bit: by
 * float factors, or in exact integer arithmetic. Immutable and thread-safe.
 *
 * <p>With a sum x and a mantissa m of 31 bits, gemmlowp's first rounding is {@code floor((x * m +
 * 2^30) / 2^31)} for either sign. To multiply 32 by 32 bits in lanes of 64, x is made unsigned by
 * adding 2^31, which adds exactly m to the result; even and odd lanes are multiplied apart and put
 * together again. The second rounding is away from zero: {@code (v + half - (v < 0)) >> shift}.
 * Rounded once, a result is {@code (v + half) >> shift} where v has been cut off, without the 2^30.
 */
public final class Requantizer {
  /** Sums beyond could overflow when rounded. */
  private static final long LARGEST_SUM = 1L << 30;

  /** Has the product with a mantissa rounded. */
  static final long FIRST_HALF = 1L << 30;

  private final Accumulation accumulation;
  private final int[] bias;

  /**
   * The channels that vectors round wrongly, in order, such as dead ones, whose factors are next to
   * 0 and whose biases are huge. They are stored one by one afterwards.
   */
  private final int[] exceptions;

  /** Added before the first shift. */
  private final long firstHalf;

  private final int[] mantissas;
  private final int[] shifts;

  /** By channel: factors that are floats; null where they are not. */
  private final float[] factors;

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
  public Requantizer(Accumulation accumulation, int[] bias, long largest) {
    this.accumulation = accumulation;
    int channels = bias.length;
    int size = Lanes.roundUp(channels) + Lanes.SLACK;
    this.bias = java.util.Arrays.copyOf(bias, size);
    mantissas = new int[size];
    shifts = new int[size];
    halves = new int[size];
    signs = new int[size];
    boolean isEven = accumulation.output().getFirst().rounding() == Rounding.EVEN;
    factors = isEven ? new float[size] : null;
    boolean isSingle = accumulation.output().getFirst().rounding() == Rounding.SINGLE;
    firstHalf = isSingle ? 0 : FIRST_HALF;
    IntStream.Builder exceptions = IntStream.builder();
    for (int c = 0; c < channels; c++) {
      Requantization factor = accumulation.output().get(c);
      if (isEven) {
        factors[c] = factor.factor();
        continue;
      }
      if (factor.shift() > (isSingle ? -1 : 0)
          || factor.shift() < -31
          || largest + Math.abs((long) bias[c]) >= LARGEST_SUM) {
        exceptions.add(c);
      }
      mantissas[c] = factor.multiplier();
      shifts[c] = Math.clamp(-factor.shift(), 0, 31);
      halves[c] = shifts[c] == 0 ? 0 : 1 << (shifts[c] - 1);
      signs[c] = shifts[c] == 0 || isSingle ? 0 : -1;
    }
    this.exceptions = exceptions.build().toArray();
  }

  /**
   * Stores a range of channels of rows of sums, which are integers or floats without a fraction.
   * Channel by channel, down the rows: what belongs to a channel is read once.
   *
   * @param isScalar whether one is rounded after the other
   * @param sums ints or floats, of the first channel of the first row stand at {@code at}
   * @param distance from one row of sums to the next
   * @param rows how many
   * @param out receives the first channel of the first row at {@code to}
   * @param outDistance from one row of results to the next
   */
  public void store(
      boolean isScalar,
      Object sums,
      int at,
      int distance,
      int rows,
      int firstChannel,
      int endChannel,
      byte[] out,
      int to,
      int outDistance,
      byte[] spare) {
    if (isScalar) {
      for (int row = 0; row < rows; row++) {
        for (int c = firstChannel; c < endChannel; c++) {
          int shift = c - firstChannel;
          storeOne(c, sums, at + row * distance + shift, out, to + row * outDistance + shift);
        }
      }
      return;
    }
    columns(sums, at, distance, rows, firstChannel, endChannel, out, to, outDistance, spare);
    for (int c : exceptions) {
      if (c < firstChannel || c >= endChannel) {
        continue;
      }
      int shift = c - firstChannel;
      for (int row = 0; row < rows; row++) {
        storeOne(c, sums, at + row * distance + shift, out, to + row * outDistance + shift);
      }
    }
  }

  private void storeOne(int channel, Object sums, int at, byte[] out, int to) {
    int sum = sums instanceof int[] ints ? ints[at] : (int) ((float[]) sums)[at];
    out[to] = (byte) accumulation.stored(sum + bias[channel], channel);
  }

  private void columns(
      Object sums,
      int at,
      int distance,
      int rows,
      int firstChannel,
      int endChannel,
      byte[] out,
      int to,
      int outDistance,
      byte[] spare) {
    int c = firstChannel;
    for (; c <= endChannel - COUNT; c += COUNT) {
      int shift = c - firstChannel;
      column(c, sums, at + shift, distance, rows, out, to + shift, outDistance);
    }
    if (c < endChannel && endChannel - firstChannel >= COUNT) {
      // Some channels twice, with the same results.
      c = endChannel - COUNT;
      int shift = c - firstChannel;
      column(c, sums, at + shift, distance, rows, out, to + shift, outDistance);
      return;
    }
    int shared = 0;
    if (c == firstChannel && endChannel - firstChannel == outDistance) {
      // What is written behind a row is written again with the next ones, which are here too.
      shared = Math.max(0, rows - Math.ceilDiv(COUNT, outDistance));
      column(c, sums, at, distance, shared, out, to, outDistance);
    }
    for (int row = shared; c < endChannel && row < rows; row++) {
      int shift = c - firstChannel;
      column(c, sums, at + row * distance + shift, 0, 1, spare, 0, 0);
      System.arraycopy(spare, 0, out, to + row * outDistance + shift, endChannel - c);
    }
  }

  /** Two loops for one: a vector that is of either array would become an object. */
  private void column(
      int channel,
      Object sums,
      int at,
      int distance,
      int rows,
      byte[] out,
      int to,
      int outDistance) {
    if (sums instanceof int[] ints) {
      column(channel, ints, at, distance, rows, out, to, outDistance);
    } else {
      column(channel, (float[]) sums, at, distance, rows, out, to, outDistance);
    }
  }

  private void column(
      int channel,
      float[] sums,
      int at,
      int distance,
      int rows,
      byte[] out,
      int to,
      int outDistance) {
    IntVector start = IntVector.fromArray(INTS, bias, channel);
    if (factors != null) {
      FloatVector factor = FloatVector.fromArray(Lanes.FLOATS, factors, channel);
      for (int row = 0; row < rows; row++) {
        IntVector sum =
            (IntVector)
                FloatVector.fromArray(Lanes.FLOATS, sums, at + row * distance)
                    .convert(VectorOperators.F2I, 0);
        store(sum.add(start), factor, out, to + row * outDistance);
      }
      return;
    }
    IntVector mantissa = IntVector.fromArray(INTS, mantissas, channel);
    IntVector half = IntVector.fromArray(INTS, halves, channel);
    IntVector sign = IntVector.fromArray(INTS, signs, channel);
    IntVector shift = IntVector.fromArray(INTS, shifts, channel);
    int zeroPoint = accumulation.outputZeroPoint();
    int low = accumulation.activation().min();
    int high = accumulation.activation().max();
    for (int row = 0; row < rows; row++) {
      IntVector sum =
          (IntVector)
              FloatVector.fromArray(Lanes.FLOATS, sums, at + row * distance)
                  .convert(VectorOperators.F2I, 0);
      IntVector result = round(sum.add(start), mantissa, half, sign, shift);
      Lanes.toBytes(result.add(zeroPoint).max(low).min(high), out, to + row * outDistance);
    }
  }

  private void column(
      int channel,
      int[] sums,
      int at,
      int distance,
      int rows,
      byte[] out,
      int to,
      int outDistance) {
    IntVector start = IntVector.fromArray(INTS, bias, channel);
    if (factors != null) {
      FloatVector factor = FloatVector.fromArray(Lanes.FLOATS, factors, channel);
      for (int row = 0; row < rows; row++) {
        IntVector sum = IntVector.fromArray(INTS, sums, at + row * distance);
        store(sum.add(start), factor, out, to + row * outDistance);
      }
      return;
    }
    IntVector mantissa = IntVector.fromArray(INTS, mantissas, channel);
    IntVector half = IntVector.fromArray(INTS, halves, channel);
    IntVector sign = IntVector.fromArray(INTS, signs, channel);
    IntVector shift = IntVector.fromArray(INTS, shifts, channel);
    int zeroPoint = accumulation.outputZeroPoint();
    int low = accumulation.activation().min();
    int high = accumulation.activation().max();
    for (int row = 0; row < rows; row++) {
      IntVector sum = IntVector.fromArray(INTS, sums, at + row * distance);
      IntVector result = round(sum.add(start), mantissa, half, sign, shift);
      Lanes.toBytes(result.add(zeroPoint).max(low).min(high), out, to + row * outDistance);
    }
  }

  private void store(IntVector sum, FloatVector factor, byte[] out, int to) {
    FloatVector product = ((FloatVector) sum.convert(VectorOperators.I2F, 0)).mul(factor);
    IntVector result = Lanes.nearest(product).add(accumulation.outputZeroPoint());
    IntRange range = accumulation.activation();
    Lanes.toBytes(result.max(range.min()).min(range.max()), out, to);
  }

  /** A product, rounded. */
  private IntVector round(
      IntVector sum, IntVector mantissa, IntVector half, IntVector sign, IntVector shift) {
    IntVector value = multiply(sum, mantissa, firstHalf);
    return value
        .add(half)
        .add(value.lanewise(VectorOperators.ASHR, 31).and(sign))
        .lanewise(VectorOperators.ASHR, shift);
  }

  /** {@code floor((value * mantissa + half) / 2^31)}, for mantissas that are not negative. */
  static IntVector multiply(IntVector value, IntVector mantissa, long half) {
    LongVector unsigned =
        value.lanewise(VectorOperators.XOR, Integer.MIN_VALUE).reinterpretAsLongs();
    LongVector factors = mantissa.reinterpretAsLongs();
    LongVector even =
        unsigned
            .and(0xFFFF_FFFFL)
            .mul(factors.and(0xFFFF_FFFFL))
            .add(half)
            .lanewise(VectorOperators.LSHR, 31);
    LongVector odd =
        unsigned
            .lanewise(VectorOperators.LSHR, 32)
            .mul(factors.lanewise(VectorOperators.LSHR, 32))
            .add(half)
            .lanewise(VectorOperators.LSHL, 1)
            .and(0xFFFF_FFFF_0000_0000L);
    return even.or(odd).reinterpretAsInts().sub(mantissa);
  }
}
