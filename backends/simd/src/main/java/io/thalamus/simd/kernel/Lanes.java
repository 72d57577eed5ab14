// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import io.thalamus.operations.IntRange;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * The vectors that this JVM prefers, and conversions between stored bytes and floats that are
 * correct for every width.
 */
public final class Lanes {
  public static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
  public static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;

  /** Floats in a vector. */
  public static final int COUNT = FLOATS.length();

  /** As many bytes as a vector has floats; null where no vector of the JDK is that short. */
  public static final VectorSpecies<Byte> BYTES =
      COUNT * Byte.SIZE < VectorShape.S_64_BIT.vectorBitSize()
          ? null
          : VectorSpecies.of(byte.class, VectorShape.forBitSize(COUNT * Byte.SIZE));

  /**
   * Elements in front of an array's data. The data of a large array begins 16 bytes behind a
   * boundary of a cache line where the collector aligns large objects; with these, vectors of 64
   * bytes do not straddle lines.
   */
  public static final int LEAD = 12;

  /** Room behind the data of every array, so that whole vectors can be read at its end. */
  public static final int SLACK = 64;

  /** Longer runs are worth the call that copies them. */
  private static final int LONG_COPY = 128;

  /** Floats less than this are rounded to whole ones by {@link #ROUNDER}. */
  static final float LARGEST = 1 << 21;

  /** Added to floats, it leaves no place for fractions. */
  static final float ROUNDER = 3 << 22;

  private Lanes() {}

  /** The least multiple of the vector length that is not below {@code count}. */
  public static int roundUp(int count) {
    return (count + COUNT - 1) / COUNT * COUNT;
  }

  /**
   * Stored bytes less a zero point, as floats.
   *
   * @param isScalar whether one is converted after the other
   * @param flip 0 for signed bytes; 0x80 for unsigned ones, whose zero point is then less 128
   */
  public static void toFloats(
      boolean isScalar,
      byte[] in,
      int from,
      int flip,
      float zeroPoint,
      float[] out,
      int to,
      int count) {
    int i = 0;
    if (BYTES != null && !isScalar) {
      for (; i <= count - COUNT; i += COUNT) {
        ((FloatVector)
                ByteVector.fromArray(BYTES, in, from + i)
                    .lanewise(VectorOperators.XOR, (byte) flip)
                    .convertShape(VectorOperators.B2F, FLOATS, 0))
            .sub(zeroPoint)
            .intoArray(out, to + i);
      }
    }
    for (; i < count; i++) {
      out[to + i] = (byte) (in[from + i] ^ flip) - zeroPoint;
    }
  }

  /**
   * Runs of stored bytes less a zero point, as floats. May read and write up to a vector behind
   * each run.
   */
  public static void toFloatRuns(
      boolean isScalar,
      byte[] in,
      int from,
      int step,
      int flip,
      float zeroPoint,
      float[] out,
      int to,
      int distance,
      int length,
      int count) {
    if (BYTES == null || isScalar) {
      for (int i = 0; i < count; i++) {
        toFloats(isScalar, in, from + i * step, flip, zeroPoint, out, to + i * distance, length);
      }
      return;
    }
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < length; j += COUNT) {
        ((FloatVector)
                ByteVector.fromArray(BYTES, in, from + i * step + j)
                    .lanewise(VectorOperators.XOR, (byte) flip)
                    .convertShape(VectorOperators.B2F, FLOATS, 0))
            .sub(zeroPoint)
            .intoArray(out, to + i * distance + j);
      }
    }
  }

  /** Copies runs of floats. May read and write up to a vector behind each run. */
  public static void copyRuns(
      boolean isScalar,
      float[] in,
      int from,
      int step,
      float[] out,
      int to,
      int distance,
      int length,
      int count) {
    if (length > LONG_COPY || isScalar) {
      for (int i = 0; i < count; i++) {
        System.arraycopy(in, from + i * step, out, to + i * distance, length);
      }
      return;
    }
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < length; j += COUNT) {
        FloatVector.fromArray(FLOATS, in, from + i * step + j)
            .intoArray(out, to + i * distance + j);
      }
    }
  }

  /** Copies runs of floats, and nothing beside them. */
  static void copyExactly(
      float[] in, int from, int step, float[] out, int to, int distance, int length, int count) {
    if (length < COUNT) {
      for (int i = 0; i < count; i++) {
        for (int j = 0; j < length; j++) {
          out[to + i * distance + j] = in[from + i * step + j];
        }
      }
      return;
    }
    int last = length - COUNT;
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < last; j += COUNT) {
        FloatVector.fromArray(FLOATS, in, from + i * step + j)
            .intoArray(out, to + i * distance + j);
      }
      FloatVector.fromArray(FLOATS, in, from + i * step + last)
          .intoArray(out, to + i * distance + last);
    }
  }

  /** As {@link #toFloats}, as ints. */
  public static void toInts(
      boolean isScalar,
      byte[] in,
      int from,
      int flip,
      int zeroPoint,
      int[] out,
      int to,
      int count) {
    int i = 0;
    if (BYTES != null && !isScalar) {
      for (; i <= count - COUNT; i += COUNT) {
        ((IntVector)
                ByteVector.fromArray(BYTES, in, from + i)
                    .lanewise(VectorOperators.XOR, (byte) flip)
                    .convertShape(VectorOperators.B2I, INTS, 0))
            .sub(zeroPoint)
            .intoArray(out, to + i);
      }
    }
    for (; i < count; i++) {
      out[to + i] = (byte) (in[from + i] ^ flip) - zeroPoint;
    }
  }

  /**
   * Stores ints as bytes.
   *
   * @param isScalar whether one is converted after the other
   * @param zeroPoint added to them
   * @param range of the sums
   */
  public static void toBytes(
      boolean isScalar,
      int[] in,
      int from,
      int zeroPoint,
      IntRange range,
      byte[] out,
      int to,
      int count) {
    int low = range.min() - zeroPoint;
    int high = range.max() - zeroPoint;
    int i = 0;
    if (BYTES != null && !isScalar) {
      for (; i <= count - COUNT; i += COUNT) {
        ((ByteVector)
                IntVector.fromArray(INTS, in, from + i)
                    .max(low)
                    .min(high)
                    .add(zeroPoint)
                    .convertShape(VectorOperators.I2B, BYTES, 0))
            .intoArray(out, to + i);
      }
    }
    for (; i < count; i++) {
      out[to + i] = (byte) (Math.min(Math.max(in[from + i], low), high) + zeroPoint);
    }
  }

  /** The low bytes of a vector of ints. */
  public static void toBytes(IntVector ints, byte[] out, int to) {
    if (BYTES != null) {
      ((ByteVector) ints.convertShape(VectorOperators.I2B, BYTES, 0)).intoArray(out, to);
    } else {
      for (int i = 0; i < COUNT; i++) {
        out[to + i] = (byte) ints.lane(i);
      }
    }
  }

  /** The nearest integer, of two that are as near the even one; beyond 2^21, that; 0 for NaN. */
  public static int nearest(float real) {
    return (int) (Math.min(Math.max(real, -LARGEST), LARGEST) + ROUNDER - ROUNDER);
  }

  /**
   * The nearest integer, of two that are as near the one farther from zero; beyond 2^21, that; 0
   * for NaN.
   */
  public static int nearestOutwards(float real) {
    float some = Math.min(Math.max(real, -LARGEST), LARGEST);
    int whole = (int) some;
    return whole + (int) ((some - whole) * 2);
  }

  /**
   * Adds rows, one after the other, to 0.
   *
   * @param distance from a row to the next
   * @param count of columns, {@link #COUNT} at least
   * @param out receives the sums at {@code to}
   */
  public static void sumRows(
      float[] in, int from, int distance, int rows, float[] out, int to, int count) {
    int column = 0;
    for (; column <= count - 2 * COUNT; column += 2 * COUNT) {
      FloatVector sum0 = FloatVector.zero(FLOATS);
      FloatVector sum1 = sum0;
      int at = from + column;
      for (int row = 0; row < rows; row++) {
        sum0 = sum0.add(FloatVector.fromArray(FLOATS, in, at));
        sum1 = sum1.add(FloatVector.fromArray(FLOATS, in, at + COUNT));
        at += distance;
      }
      sum0.intoArray(out, to + column);
      sum1.intoArray(out, to + column + COUNT);
    }
    int last = count - COUNT;
    while (column < count) {
      int start = Math.min(column, last);
      FloatVector sum = FloatVector.zero(FLOATS);
      int at = from + start;
      for (int row = 0; row < rows; row++) {
        sum = sum.add(FloatVector.fromArray(FLOATS, in, at));
        at += distance;
      }
      sum.intoArray(out, to + start);
      column += COUNT;
    }
  }
}
