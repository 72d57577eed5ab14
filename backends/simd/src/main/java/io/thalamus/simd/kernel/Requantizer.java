// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.BYTES;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import java.util.stream.IntStream;
import jdk.incubator.vector.ByteVector;
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
 * together again. The second rounding is away from zero: {@code (v + half - (v < 0)) >> shift}, in
 * two shifts since the sum may not fit: {@code ((v - (v < 0) >> shift - 1) + 1) >> 1}. Rounded
 * once, v has been cut off, without the 2^30, and nothing is subtracted.
 *
 * <p>The loops call no methods of ours: one that the JVM does not inline would make each vector an
 * object.
 */
public final class Requantizer {
  /** Has the product with a mantissa rounded. */
  private static final long FIRST_HALF = 1L << 30;

  private static final long LOW = 0xFFFF_FFFFL;

  private final Accumulation accumulation;
  private final int[] bias;

  /** The channels that vectors do not round, in order: their factors are 1 or more. */
  private final int[] exceptions;

  /** Added before the first shift. */
  private final long firstHalf;

  private final int[] mantissas;
  private final int[] shifts;

  /** By channel: factors that are floats; null where they are not. */
  private final float[] factors;

  /** By channel: 1 where there is a second rounding, else 0: what is shifted last, and how far. */
  private final int[] ones;

  /** By channel: -1 where the second rounding is away from zero, else 0. */
  private final int[] signs;

  /**
   * Factors by channel.
   *
   * @param bias added to each sum, by channel
   */
  public Requantizer(Accumulation accumulation, int[] bias) {
    this.accumulation = accumulation;
    int channels = bias.length;
    int size = Lanes.roundUp(channels) + Lanes.SLACK;
    this.bias = java.util.Arrays.copyOf(bias, size);
    mantissas = new int[size];
    shifts = new int[size];
    ones = new int[size];
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
      if (factor.shift() > (isSingle ? -1 : 0)) {
        exceptions.add(c);
      }
      int shift = Math.clamp(-factor.shift(), 0, 31);
      mantissas[c] = factor.multiplier();
      shifts[c] = Math.max(0, shift - 1);
      ones[c] = Math.min(1, shift);
      signs[c] = shift == 0 || isSingle ? 0 : -1;
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

  /** Four loops for one: a vector that is of either array would become an object. */
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
      if (factors != null) {
        toEven(channel, ints, at, distance, rows, out, to, outDistance);
      } else {
        column(channel, ints, at, distance, rows, out, to, outDistance);
      }
    } else if (factors != null) {
      toEven(channel, (float[]) sums, at, distance, rows, out, to, outDistance);
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
    LongVector mantissa = IntVector.fromArray(INTS, mantissas, channel).reinterpretAsLongs();
    LongVector even = mantissa.and(LOW);
    LongVector odd = mantissa.lanewise(VectorOperators.LSHR, 32);
    IntVector subtracted = mantissa.reinterpretAsInts();
    IntVector sign = IntVector.fromArray(INTS, signs, channel);
    IntVector shift = IntVector.fromArray(INTS, shifts, channel);
    IntVector one = IntVector.fromArray(INTS, ones, channel);
    long half = firstHalf;
    int zeroPoint = accumulation.outputZeroPoint();
    int low = accumulation.activation().min() - zeroPoint;
    int high = accumulation.activation().max() - zeroPoint;
    for (int row = 0; row < rows; row++) {
      IntVector sum =
          (IntVector)
              FloatVector.fromArray(FLOATS, sums, at + row * distance)
                  .convert(VectorOperators.F2I, 0);
      LongVector unsigned =
          sum.add(start).lanewise(VectorOperators.XOR, Integer.MIN_VALUE).reinterpretAsLongs();
      LongVector evens = unsigned.and(LOW).mul(even).add(half).lanewise(VectorOperators.LSHR, 31);
      LongVector odds =
          unsigned
              .lanewise(VectorOperators.LSHR, 32)
              .mul(odd)
              .add(half)
              .lanewise(VectorOperators.LSHL, 1)
              .and(~LOW);
      IntVector value = evens.or(odds).reinterpretAsInts().sub(subtracted);
      IntVector result =
          value
              .add(value.lanewise(VectorOperators.ASHR, 31).and(sign))
              .lanewise(VectorOperators.ASHR, shift)
              .add(one)
              .lanewise(VectorOperators.ASHR, one)
              .max(low)
              .min(high)
              .add(zeroPoint);
      if (BYTES != null) {
        ((ByteVector) result.convertShape(VectorOperators.I2B, BYTES, 0))
            .intoArray(out, to + row * outDistance);
      } else {
        Lanes.toBytes(result, out, to + row * outDistance);
      }
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
    LongVector mantissa = IntVector.fromArray(INTS, mantissas, channel).reinterpretAsLongs();
    LongVector even = mantissa.and(LOW);
    LongVector odd = mantissa.lanewise(VectorOperators.LSHR, 32);
    IntVector subtracted = mantissa.reinterpretAsInts();
    IntVector sign = IntVector.fromArray(INTS, signs, channel);
    IntVector shift = IntVector.fromArray(INTS, shifts, channel);
    IntVector one = IntVector.fromArray(INTS, ones, channel);
    long half = firstHalf;
    int zeroPoint = accumulation.outputZeroPoint();
    int low = accumulation.activation().min() - zeroPoint;
    int high = accumulation.activation().max() - zeroPoint;
    for (int row = 0; row < rows; row++) {
      IntVector sum = IntVector.fromArray(INTS, sums, at + row * distance);
      LongVector unsigned =
          sum.add(start).lanewise(VectorOperators.XOR, Integer.MIN_VALUE).reinterpretAsLongs();
      LongVector evens = unsigned.and(LOW).mul(even).add(half).lanewise(VectorOperators.LSHR, 31);
      LongVector odds =
          unsigned
              .lanewise(VectorOperators.LSHR, 32)
              .mul(odd)
              .add(half)
              .lanewise(VectorOperators.LSHL, 1)
              .and(~LOW);
      IntVector value = evens.or(odds).reinterpretAsInts().sub(subtracted);
      IntVector result =
          value
              .add(value.lanewise(VectorOperators.ASHR, 31).and(sign))
              .lanewise(VectorOperators.ASHR, shift)
              .add(one)
              .lanewise(VectorOperators.ASHR, one)
              .max(low)
              .min(high)
              .add(zeroPoint);
      if (BYTES != null) {
        ((ByteVector) result.convertShape(VectorOperators.I2B, BYTES, 0))
            .intoArray(out, to + row * outDistance);
      } else {
        Lanes.toBytes(result, out, to + row * outDistance);
      }
    }
  }

  private void toEven(
      int channel,
      float[] sums,
      int at,
      int distance,
      int rows,
      byte[] out,
      int to,
      int outDistance) {
    IntVector start = IntVector.fromArray(INTS, bias, channel);
    FloatVector factor = FloatVector.fromArray(FLOATS, factors, channel);
    int zeroPoint = accumulation.outputZeroPoint();
    int low = accumulation.activation().min() - zeroPoint;
    int high = accumulation.activation().max() - zeroPoint;
    for (int row = 0; row < rows; row++) {
      IntVector sum =
          (IntVector)
              FloatVector.fromArray(FLOATS, sums, at + row * distance)
                  .convert(VectorOperators.F2I, 0);
      FloatVector product =
          ((FloatVector) sum.add(start).convert(VectorOperators.I2F, 0)).mul(factor);
      IntVector result =
          ((IntVector)
                  product
                      .max(-Lanes.LARGEST)
                      .min(Lanes.LARGEST)
                      .add(Lanes.ROUNDER)
                      .sub(Lanes.ROUNDER)
                      .convert(VectorOperators.F2I, 0))
              .max(low)
              .min(high)
              .add(zeroPoint);
      if (BYTES != null) {
        ((ByteVector) result.convertShape(VectorOperators.I2B, BYTES, 0))
            .intoArray(out, to + row * outDistance);
      } else {
        Lanes.toBytes(result, out, to + row * outDistance);
      }
    }
  }

  private void toEven(
      int channel,
      int[] sums,
      int at,
      int distance,
      int rows,
      byte[] out,
      int to,
      int outDistance) {
    IntVector start = IntVector.fromArray(INTS, bias, channel);
    FloatVector factor = FloatVector.fromArray(FLOATS, factors, channel);
    int zeroPoint = accumulation.outputZeroPoint();
    int low = accumulation.activation().min() - zeroPoint;
    int high = accumulation.activation().max() - zeroPoint;
    for (int row = 0; row < rows; row++) {
      IntVector sum = IntVector.fromArray(INTS, sums, at + row * distance);
      FloatVector product =
          ((FloatVector) sum.add(start).convert(VectorOperators.I2F, 0)).mul(factor);
      IntVector result =
          ((IntVector)
                  product
                      .max(-Lanes.LARGEST)
                      .min(Lanes.LARGEST)
                      .add(Lanes.ROUNDER)
                      .sub(Lanes.ROUNDER)
                      .convert(VectorOperators.F2I, 0))
              .max(low)
              .min(high)
              .add(zeroPoint);
      if (BYTES != null) {
        ((ByteVector) result.convertShape(VectorOperators.I2B, BYTES, 0))
            .intoArray(out, to + row * outDistance);
      } else {
        Lanes.toBytes(result, out, to + row * outDistance);
      }
    }
  }
}
