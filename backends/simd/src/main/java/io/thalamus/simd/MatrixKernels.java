// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.simd.Lanes.COUNT;
import static io.thalamus.simd.Lanes.FLOATS;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

/**
 * The innermost loops of matrix products. Each result is {@code added + bias + sum over k}, in this
 * order and k ascending, with one rounding for each step: no tiling changes a bit.
 *
 * <p>The form is the one that held its speed in every JVM: heap arrays, one counted loop and
 * nothing else in it, no branch before or behind. Where nothing is added, a row of zeros is; where
 * nothing is clamped, the bounds let everything through. See {@link Clamp}.
 */
final class MatrixKernels {
  private MatrixKernels() {}

  /** Four rows times a panel of two vectors, at a column of the result. */
  static void wide(
      Rows rows, float[] right, int panel, int depth, float[] bias, int column, Clamp clamp) {
    float[] left = rows.left;
    int left0 = rows.left0;
    int left1 = rows.left1;
    int left2 = rows.left2;
    int left3 = rows.left3;
    float[] added = rows.added;
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
    FloatVector sum00 = FloatVector.fromArray(FLOATS, added, rows.added0 + column).add(bias0);
    FloatVector sum01 =
        FloatVector.fromArray(FLOATS, added, rows.added0 + column + COUNT).add(bias1);
    FloatVector sum10 = FloatVector.fromArray(FLOATS, added, rows.added1 + column).add(bias0);
    FloatVector sum11 =
        FloatVector.fromArray(FLOATS, added, rows.added1 + column + COUNT).add(bias1);
    FloatVector sum20 = FloatVector.fromArray(FLOATS, added, rows.added2 + column).add(bias0);
    FloatVector sum21 =
        FloatVector.fromArray(FLOATS, added, rows.added2 + column + COUNT).add(bias1);
    FloatVector sum30 = FloatVector.fromArray(FLOATS, added, rows.added3 + column).add(bias0);
    FloatVector sum31 =
        FloatVector.fromArray(FLOATS, added, rows.added3 + column + COUNT).add(bias1);
    for (int k = 0; k < depth; k++) {
      FloatVector right0 = FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT);
      FloatVector right1 = FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT + COUNT);
      FloatVector x = FloatVector.broadcast(FLOATS, left[left0 + k]);
      sum00 = x.fma(right0, sum00);
      sum01 = x.fma(right1, sum01);
      x = FloatVector.broadcast(FLOATS, left[left1 + k]);
      sum10 = x.fma(right0, sum10);
      sum11 = x.fma(right1, sum11);
      x = FloatVector.broadcast(FLOATS, left[left2 + k]);
      sum20 = x.fma(right0, sum20);
      sum21 = x.fma(right1, sum21);
      x = FloatVector.broadcast(FLOATS, left[left3 + k]);
      sum30 = x.fma(right0, sum30);
      sum31 = x.fma(right1, sum31);
    }
    int low = clamp.low();
    int high = clamp.high();
    float[] result = rows.result;
    store(sum00, low, high, result, rows.result0 + column);
    store(sum01, low, high, result, rows.result0 + column + COUNT);
    store(sum10, low, high, result, rows.result1 + column);
    store(sum11, low, high, result, rows.result1 + column + COUNT);
    store(sum20, low, high, result, rows.result2 + column);
    store(sum21, low, high, result, rows.result2 + column + COUNT);
    store(sum30, low, high, result, rows.result3 + column);
    store(sum31, low, high, result, rows.result3 + column + COUNT);
  }

  /** Four rows times a panel of one vector, of which {@code present} columns exist. */
  static void narrow(
      Rows rows,
      float[] right,
      int panel,
      int depth,
      float[] bias,
      int column,
      int present,
      Clamp clamp) {
    VectorMask<Float> mask = FLOATS.indexInRange(0, present);
    float[] left = rows.left;
    int left0 = rows.left0;
    int left1 = rows.left1;
    int left2 = rows.left2;
    int left3 = rows.left3;
    float[] added = rows.added;
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector sum0 = FloatVector.fromArray(FLOATS, added, rows.added0 + column, mask).add(bias0);
    FloatVector sum1 = FloatVector.fromArray(FLOATS, added, rows.added1 + column, mask).add(bias0);
    FloatVector sum2 = FloatVector.fromArray(FLOATS, added, rows.added2 + column, mask).add(bias0);
    FloatVector sum3 = FloatVector.fromArray(FLOATS, added, rows.added3 + column, mask).add(bias0);
    for (int k = 0; k < depth; k++) {
      FloatVector right0 = FloatVector.fromArray(FLOATS, right, panel + k * COUNT);
      sum0 = FloatVector.broadcast(FLOATS, left[left0 + k]).fma(right0, sum0);
      sum1 = FloatVector.broadcast(FLOATS, left[left1 + k]).fma(right0, sum1);
      sum2 = FloatVector.broadcast(FLOATS, left[left2 + k]).fma(right0, sum2);
      sum3 = FloatVector.broadcast(FLOATS, left[left3 + k]).fma(right0, sum3);
    }
    int low = clamp.low();
    int high = clamp.high();
    float[] result = rows.result;
    clamp(sum0, low, high).intoArray(result, rows.result0 + column, mask);
    clamp(sum1, low, high).intoArray(result, rows.result1 + column, mask);
    clamp(sum2, low, high).intoArray(result, rows.result2 + column, mask);
    clamp(sum3, low, high).intoArray(result, rows.result3 + column, mask);
  }

  /** One row times two neighbouring panels of two vectors: for a single row, one is too slow. */
  static void single(
      Rows rows, float[] right, int panel, int depth, float[] bias, int column, Clamp clamp) {
    int second = panel + depth * 2 * COUNT;
    float[] left = rows.left;
    int left0 = rows.left0;
    float[] added = rows.added;
    int from = rows.added0 + column;
    FloatVector sum0 = start(added, from, bias, column);
    FloatVector sum1 = start(added, from + COUNT, bias, column + COUNT);
    FloatVector sum2 = start(added, from + 2 * COUNT, bias, column + 2 * COUNT);
    FloatVector sum3 = start(added, from + 3 * COUNT, bias, column + 3 * COUNT);
    for (int k = 0; k < depth; k++) {
      FloatVector x = FloatVector.broadcast(FLOATS, left[left0 + k]);
      sum0 = x.fma(FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT), sum0);
      sum1 = x.fma(FloatVector.fromArray(FLOATS, right, panel + k * 2 * COUNT + COUNT), sum1);
      sum2 = x.fma(FloatVector.fromArray(FLOATS, right, second + k * 2 * COUNT), sum2);
      sum3 = x.fma(FloatVector.fromArray(FLOATS, right, second + k * 2 * COUNT + COUNT), sum3);
    }
    int low = clamp.low();
    int high = clamp.high();
    float[] result = rows.result;
    int to = rows.result0 + column;
    store(sum0, low, high, result, to);
    store(sum1, low, high, result, to + COUNT);
    store(sum2, low, high, result, to + 2 * COUNT);
    store(sum3, low, high, result, to + 3 * COUNT);
  }

  private static FloatVector start(float[] added, int addedAt, float[] bias, int biasAt) {
    return FloatVector.fromArray(FLOATS, added, addedAt)
        .add(FloatVector.fromArray(FLOATS, bias, biasAt));
  }

  private static FloatVector clamp(FloatVector sum, int low, int high) {
    return sum.reinterpretAsInts().max(low).min(high).reinterpretAsFloats();
  }

  private static void store(FloatVector sum, int low, int high, float[] result, int at) {
    clamp(sum, low, high).intoArray(result, at);
  }
}
