// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.BYTES;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Rows.DISTANCE;
import static jdk.incubator.vector.VectorOperators.B2F;
import static jdk.incubator.vector.VectorOperators.NE;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;

/**
 * The innermost loops of matrix products: four rows at a time times a panel of the right matrix.
 * Each result is {@code (bias + added) + sum over k}, k ascending, with one rounding for each step:
 * no tiling changes a bit.
 *
 * <p>The form is the one that holds its speed in every JVM: heap arrays, one counted loop over k
 * and nothing else in it, no branch before or behind. Rows of the left matrix stand a constant
 * distance apart, so that all of them are addressed from one index. If nothing is clamped, the
 * bounds let everything through, see {@link Clamp}; if nothing is added, zeros are. All offsets are
 * of column 0. Whole vectors are read from what is added, and only columns that exist are written.
 */
public final class MatrixKernels {
  /** Rows of a group. */
  static final int ROWS = 4;

  private MatrixKernels() {}

  /** Groups of rows times a panel of two vectors. */
  static void wide(
      float[] left,
      int leftAt,
      int groups,
      float[] right,
      int panel,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
    for (int group = 0; group < groups; group++) {
      int left0 = leftAt + group * 4 * DISTANCE;
      int from = addedAt + group * 4 * addedDistance + column;
      FloatVector sum00 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum01 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum10 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum11 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum20 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum21 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum30 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum31 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      for (int k = 0; k < depth; k++) {
        FloatVector right0 = FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT);
        FloatVector right1 = FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT + COUNT);
        FloatVector x = FloatVector.broadcast(FLOATS, left[left0 + k]);
        sum00 = x.fma(right0, sum00);
        sum01 = x.fma(right1, sum01);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + DISTANCE]);
        sum10 = x.fma(right0, sum10);
        sum11 = x.fma(right1, sum11);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 2 * DISTANCE]);
        sum20 = x.fma(right0, sum20);
        sum21 = x.fma(right1, sum21);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 3 * DISTANCE]);
        sum30 = x.fma(right0, sum30);
        sum31 = x.fma(right1, sum31);
      }
      int to = resultAt + group * 4 * resultDistance + column;
      sum00
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum00, sum00.compare(NE, sum00))
          .intoArray(result, to);
      sum01
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum01, sum01.compare(NE, sum01))
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum10
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum10, sum10.compare(NE, sum10))
          .intoArray(result, to);
      sum11
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum11, sum11.compare(NE, sum11))
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum20
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum20, sum20.compare(NE, sum20))
          .intoArray(result, to);
      sum21
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum21, sum21.compare(NE, sum21))
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum30
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum30, sum30.compare(NE, sum30))
          .intoArray(result, to);
      sum31
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum31, sum31.compare(NE, sum31))
          .intoArray(result, to + COUNT);
    }
  }

  /** As {@link #wide}, for a panel of one vector. */
  static void narrow(
      float[] left,
      int leftAt,
      int groups,
      float[] right,
      int panel,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    for (int group = 0; group < groups; group++) {
      int left0 = leftAt + group * 4 * DISTANCE;
      int from = addedAt + group * 4 * addedDistance + column;
      FloatVector sum00 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum10 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum20 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum30 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      for (int k = 0; k < depth; k++) {
        FloatVector right0 = FloatVector.fromArray(FLOATS, right, panel + k * COUNT);
        FloatVector x = FloatVector.broadcast(FLOATS, left[left0 + k]);
        sum00 = x.fma(right0, sum00);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + DISTANCE]);
        sum10 = x.fma(right0, sum10);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 2 * DISTANCE]);
        sum20 = x.fma(right0, sum20);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 3 * DISTANCE]);
        sum30 = x.fma(right0, sum30);
      }
      int to = resultAt + group * 4 * resultDistance + column;
      sum00
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum00, sum00.compare(NE, sum00))
          .intoArray(result, to);
      to += resultDistance;
      sum10
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum10, sum10.compare(NE, sum10))
          .intoArray(result, to);
      to += resultDistance;
      sum20
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum20, sum20.compare(NE, sum20))
          .intoArray(result, to);
      to += resultDistance;
      sum30
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(sum30, sum30.compare(NE, sum30))
          .intoArray(result, to);
    }
  }

  /** One row times two neighbouring panels of two vectors: for a single row, one is too slow. */
  static void single(
      float[] left,
      int leftAt,
      float[] right,
      int panel,
      int second,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      float[] result,
      int resultAt,
      int low,
      int high) {
    int from = addedAt + column;
    FloatVector sum0 = start(added, from, bias, column);
    FloatVector sum1 = start(added, from + COUNT, bias, column + COUNT);
    FloatVector sum2 = start(added, from + 2 * COUNT, bias, column + 2 * COUNT);
    FloatVector sum3 = start(added, from + 3 * COUNT, bias, column + 3 * COUNT);
    for (int k = 0; k < depth; k++) {
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      sum0 = x.fma(FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT), sum0);
      sum1 = x.fma(FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT + COUNT), sum1);
      sum2 = x.fma(FloatVector.fromArray(FLOATS, right, second + k * 2 * COUNT), sum2);
      sum3 = x.fma(FloatVector.fromArray(FLOATS, right, second + k * 2 * COUNT + COUNT), sum3);
    }
    int to = resultAt + column;
    store(sum0, low, high, result, to);
    store(sum1, low, high, result, to + COUNT);
    store(sum2, low, high, result, to + 2 * COUNT);
    store(sum3, low, high, result, to + 3 * COUNT);
  }

  /**
   * One row times four vectors of bytes, whose sums are exact: without bias, and nothing is added
   * or clamped.
   *
   * @param right of row after row
   * @param result receives the sums at {@code to}
   */
  static void singleOfBytes(
      float[] left, int leftAt, byte[] right, int at, int depth, float[] result, int to) {
    FloatVector sum0 = FloatVector.zero(FLOATS);
    FloatVector sum1 = sum0;
    FloatVector sum2 = sum0;
    FloatVector sum3 = sum0;
    FloatVector odd0 = sum0;
    FloatVector odd1 = sum0;
    FloatVector odd2 = sum0;
    FloatVector odd3 = sum0;
    int k = 0;
    for (; k < depth - 1; k += 2) {
      int from = at + k * 4 * COUNT;
      ByteVector even0 = ByteVector.fromArray(BYTES, right, from);
      ByteVector even1 = ByteVector.fromArray(BYTES, right, from + COUNT);
      ByteVector even2 = ByteVector.fromArray(BYTES, right, from + 2 * COUNT);
      ByteVector even3 = ByteVector.fromArray(BYTES, right, from + 3 * COUNT);
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      sum0 = x.fma((FloatVector) even0.convertShape(B2F, FLOATS, 0), sum0);
      sum1 = x.fma((FloatVector) even1.convertShape(B2F, FLOATS, 0), sum1);
      sum2 = x.fma((FloatVector) even2.convertShape(B2F, FLOATS, 0), sum2);
      sum3 = x.fma((FloatVector) even3.convertShape(B2F, FLOATS, 0), sum3);
      ByteVector right0 = ByteVector.fromArray(BYTES, right, from + 4 * COUNT);
      ByteVector right1 = ByteVector.fromArray(BYTES, right, from + 5 * COUNT);
      ByteVector right2 = ByteVector.fromArray(BYTES, right, from + 6 * COUNT);
      ByteVector right3 = ByteVector.fromArray(BYTES, right, from + 7 * COUNT);
      FloatVector y = FloatVector.broadcast(FLOATS, left[leftAt + k + 1]);
      odd0 = y.fma((FloatVector) right0.convertShape(B2F, FLOATS, 0), odd0);
      odd1 = y.fma((FloatVector) right1.convertShape(B2F, FLOATS, 0), odd1);
      odd2 = y.fma((FloatVector) right2.convertShape(B2F, FLOATS, 0), odd2);
      odd3 = y.fma((FloatVector) right3.convertShape(B2F, FLOATS, 0), odd3);
    }
    if (k < depth) {
      int from = at + k * 4 * COUNT;
      ByteVector right0 = ByteVector.fromArray(BYTES, right, from);
      ByteVector right1 = ByteVector.fromArray(BYTES, right, from + COUNT);
      ByteVector right2 = ByteVector.fromArray(BYTES, right, from + 2 * COUNT);
      ByteVector right3 = ByteVector.fromArray(BYTES, right, from + 3 * COUNT);
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      sum0 = x.fma((FloatVector) right0.convertShape(B2F, FLOATS, 0), sum0);
      sum1 = x.fma((FloatVector) right1.convertShape(B2F, FLOATS, 0), sum1);
      sum2 = x.fma((FloatVector) right2.convertShape(B2F, FLOATS, 0), sum2);
      sum3 = x.fma((FloatVector) right3.convertShape(B2F, FLOATS, 0), sum3);
    }
    sum0.add(odd0).intoArray(result, to);
    sum1.add(odd1).intoArray(result, to + COUNT);
    sum2.add(odd2).intoArray(result, to + 2 * COUNT);
    sum3.add(odd3).intoArray(result, to + 3 * COUNT);
  }

  private static FloatVector start(float[] added, int addedAt, float[] bias, int biasAt) {
    return FloatVector.fromArray(FLOATS, added, addedAt)
        .add(FloatVector.fromArray(FLOATS, bias, biasAt));
  }

  private static void store(FloatVector sum, int low, int high, float[] result, int at) {
    sum.reinterpretAsInts()
        .max(low)
        .min(high)
        .reinterpretAsFloats()
        .blend(sum, sum.compare(NE, sum))
        .intoArray(result, at);
  }
}
