// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.simd.Lanes.COUNT;
import static io.thalamus.simd.Lanes.FLOATS;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

/**
 * The innermost loops of matrix products: four rows at a time times a panel of the right matrix.
 * Each result is {@code (bias + added) + sum over k}, k ascending, with one rounding for each step:
 * no tiling changes a bit.
 *
 * <p>The form is the one that holds its speed in every JVM: heap arrays, one counted loop over k
 * and nothing else in it, row offsets as plain ints, no branch before or behind. Where nothing is
 * clamped, the bounds let everything through; see {@link Clamp}. All offsets are of column 0.
 */
final class MatrixKernels {
  private MatrixKernels() {}

  /** Groups of four rows times a panel of two vectors. */
  static void wide(
      float[] left,
      int leftAt,
      int leftDistance,
      int groups,
      float[] right,
      int panel,
      int depth,
      float[] bias,
      int column,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    for (int group = 0; group < groups; group++) {
      int left0 = leftAt + group * 4 * leftDistance;
      int left1 = left0 + leftDistance;
      int left2 = left1 + leftDistance;
      int left3 = left2 + leftDistance;
      FloatVector sum00 = FloatVector.fromArray(FLOATS, bias, column);
      FloatVector sum01 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
      FloatVector sum10 = sum00;
      FloatVector sum11 = sum01;
      FloatVector sum20 = sum00;
      FloatVector sum21 = sum01;
      FloatVector sum30 = sum00;
      FloatVector sum31 = sum01;
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
      int to = resultAt + group * 4 * resultDistance + column;
      store(sum00, low, high, result, to);
      store(sum01, low, high, result, to + COUNT);
      to += resultDistance;
      store(sum10, low, high, result, to);
      store(sum11, low, high, result, to + COUNT);
      to += resultDistance;
      store(sum20, low, high, result, to);
      store(sum21, low, high, result, to + COUNT);
      to += resultDistance;
      store(sum30, low, high, result, to);
      store(sum31, low, high, result, to + COUNT);
    }
  }

  /** As {@link #wide}, with rows of the same form added. */
  static void wideAdded(
      float[] left,
      int leftAt,
      int leftDistance,
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
    for (int group = 0; group < groups; group++) {
      int left0 = leftAt + group * 4 * leftDistance;
      int left1 = left0 + leftDistance;
      int left2 = left1 + leftDistance;
      int left3 = left2 + leftDistance;
      FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
      FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
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
      int to = resultAt + group * 4 * resultDistance + column;
      store(sum00, low, high, result, to);
      store(sum01, low, high, result, to + COUNT);
      to += resultDistance;
      store(sum10, low, high, result, to);
      store(sum11, low, high, result, to + COUNT);
      to += resultDistance;
      store(sum20, low, high, result, to);
      store(sum21, low, high, result, to + COUNT);
      to += resultDistance;
      store(sum30, low, high, result, to);
      store(sum31, low, high, result, to + COUNT);
    }
  }

  /** As {@link #wideAdded}, for a last panel of which {@code present} columns exist. */
  static void wideRest(
      float[] left,
      int leftAt,
      int leftDistance,
      int groups,
      float[] right,
      int panel,
      int depth,
      float[] bias,
      int column,
      int present,
      float[] added,
      int addedAt,
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    VectorMask<Float> mask = FLOATS.indexInRange(COUNT, present);
    for (int group = 0; group < groups; group++) {
      int left0 = leftAt + group * 4 * leftDistance;
      int left1 = left0 + leftDistance;
      int left2 = left1 + leftDistance;
      int left3 = left2 + leftDistance;
      FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
      FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
      int from = addedAt + group * 4 * addedDistance + column;
      FloatVector sum00 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum01 = FloatVector.fromArray(FLOATS, added, from + COUNT, mask).add(bias1);
      from += addedDistance;
      FloatVector sum10 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum11 = FloatVector.fromArray(FLOATS, added, from + COUNT, mask).add(bias1);
      from += addedDistance;
      FloatVector sum20 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum21 = FloatVector.fromArray(FLOATS, added, from + COUNT, mask).add(bias1);
      from += addedDistance;
      FloatVector sum30 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum31 = FloatVector.fromArray(FLOATS, added, from + COUNT, mask).add(bias1);
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
      int to = resultAt + group * 4 * resultDistance + column;
      store(sum00, low, high, result, to);
      clamp(sum01, low, high).intoArray(result, to + COUNT, mask);
      to += resultDistance;
      store(sum10, low, high, result, to);
      clamp(sum11, low, high).intoArray(result, to + COUNT, mask);
      to += resultDistance;
      store(sum20, low, high, result, to);
      clamp(sum21, low, high).intoArray(result, to + COUNT, mask);
      to += resultDistance;
      store(sum30, low, high, result, to);
      clamp(sum31, low, high).intoArray(result, to + COUNT, mask);
    }
  }

  /** As {@link #wideRest}, for a panel of one vector. */
  static void narrowRest(
      float[] left,
      int leftAt,
      int leftDistance,
      int groups,
      float[] right,
      int panel,
      int depth,
      float[] bias,
      int column,
      int present,
      float[] added,
      int addedAt,
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    VectorMask<Float> mask = FLOATS.indexInRange(0, present);
    for (int group = 0; group < groups; group++) {
      int left0 = leftAt + group * 4 * leftDistance;
      int left1 = left0 + leftDistance;
      int left2 = left1 + leftDistance;
      int left3 = left2 + leftDistance;
      FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
      int from = addedAt + group * 4 * addedDistance + column;
      FloatVector sum0 = FloatVector.fromArray(FLOATS, added, from, mask).add(bias0);
      from += addedDistance;
      FloatVector sum1 = FloatVector.fromArray(FLOATS, added, from, mask).add(bias0);
      from += addedDistance;
      FloatVector sum2 = FloatVector.fromArray(FLOATS, added, from, mask).add(bias0);
      from += addedDistance;
      FloatVector sum3 = FloatVector.fromArray(FLOATS, added, from, mask).add(bias0);
      for (int k = 0; k < depth; k++) {
        FloatVector right0 = FloatVector.fromArray(FLOATS, right, panel + k * COUNT);
        sum0 = FloatVector.broadcast(FLOATS, left[left0 + k]).fma(right0, sum0);
        sum1 = FloatVector.broadcast(FLOATS, left[left1 + k]).fma(right0, sum1);
        sum2 = FloatVector.broadcast(FLOATS, left[left2 + k]).fma(right0, sum2);
        sum3 = FloatVector.broadcast(FLOATS, left[left3 + k]).fma(right0, sum3);
      }
      int to = resultAt + group * 4 * resultDistance + column;
      clamp(sum0, low, high).intoArray(result, to, mask);
      to += resultDistance;
      clamp(sum1, low, high).intoArray(result, to, mask);
      to += resultDistance;
      clamp(sum2, low, high).intoArray(result, to, mask);
      to += resultDistance;
      clamp(sum3, low, high).intoArray(result, to, mask);
    }
  }

  /** One row times two neighbouring panels of two vectors: for a single row, one is too slow. */
  static void single(
      float[] left,
      int leftAt,
      float[] right,
      int panel,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      float[] result,
      int resultAt,
      int low,
      int high) {
    int second = panel + depth * 2 * COUNT;
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
