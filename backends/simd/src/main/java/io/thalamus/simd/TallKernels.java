// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.simd.Lanes.COUNT;
import static io.thalamus.simd.Lanes.FLOATS;
import static io.thalamus.simd.Rows.DISTANCE;

import jdk.incubator.vector.FloatVector;

/**
 * As {@link MatrixKernels}, twelve rows at a time: for vectors of 64 bytes, of which processors
 * have 32 registers. The sums, a row of the panel and an element of the left matrix take 27.
 *
 * <p>Every operation is spelled out: behind so many calls that the JVM must inline, it no longer
 * inlines methods of ours, and a vector that is passed to one would become an object.
 */
final class TallKernels {
  /** Rows of a group. */
  static final int ROWS = 12;

  /** Whether there are registers for so many sums. */
  static final boolean FIT = COUNT >= 16;

  private TallKernels() {}

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
      int left0 = leftAt + group * 12 * DISTANCE;
      int from = addedAt + group * 12 * addedDistance + column;
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
      from += addedDistance;
      FloatVector sum40 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum41 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum50 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum51 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum60 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum61 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum70 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum71 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum80 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum81 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sum90 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sum91 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector suma0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector suma1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
      from += addedDistance;
      FloatVector sumb0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      FloatVector sumb1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
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
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 4 * DISTANCE]);
        sum40 = x.fma(right0, sum40);
        sum41 = x.fma(right1, sum41);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 5 * DISTANCE]);
        sum50 = x.fma(right0, sum50);
        sum51 = x.fma(right1, sum51);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 6 * DISTANCE]);
        sum60 = x.fma(right0, sum60);
        sum61 = x.fma(right1, sum61);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 7 * DISTANCE]);
        sum70 = x.fma(right0, sum70);
        sum71 = x.fma(right1, sum71);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 8 * DISTANCE]);
        sum80 = x.fma(right0, sum80);
        sum81 = x.fma(right1, sum81);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 9 * DISTANCE]);
        sum90 = x.fma(right0, sum90);
        sum91 = x.fma(right1, sum91);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 10 * DISTANCE]);
        suma0 = x.fma(right0, suma0);
        suma1 = x.fma(right1, suma1);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 11 * DISTANCE]);
        sumb0 = x.fma(right0, sumb0);
        sumb1 = x.fma(right1, sumb1);
      }
      int to = resultAt + group * 12 * resultDistance + column;
      sum00.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum01
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum10.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum11
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum20.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum21
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum30.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum31
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum40.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum41
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum50.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum51
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum60.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum61
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum70.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum71
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum80.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum81
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sum90.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sum91
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      suma0.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      suma1
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(result, to + COUNT);
      to += resultDistance;
      sumb0.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      sumb1
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
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
      int left0 = leftAt + group * 12 * DISTANCE;
      int from = addedAt + group * 12 * addedDistance + column;
      FloatVector sum00 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum10 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum20 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum30 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum40 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum50 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum60 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum70 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum80 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sum90 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector suma0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
      from += addedDistance;
      FloatVector sumb0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
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
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 4 * DISTANCE]);
        sum40 = x.fma(right0, sum40);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 5 * DISTANCE]);
        sum50 = x.fma(right0, sum50);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 6 * DISTANCE]);
        sum60 = x.fma(right0, sum60);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 7 * DISTANCE]);
        sum70 = x.fma(right0, sum70);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 8 * DISTANCE]);
        sum80 = x.fma(right0, sum80);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 9 * DISTANCE]);
        sum90 = x.fma(right0, sum90);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 10 * DISTANCE]);
        suma0 = x.fma(right0, suma0);
        x = FloatVector.broadcast(FLOATS, left[left0 + k + 11 * DISTANCE]);
        sumb0 = x.fma(right0, sumb0);
      }
      int to = resultAt + group * 12 * resultDistance + column;
      sum00.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum10.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum20.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum30.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum40.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum50.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum60.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum70.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum80.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sum90.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      suma0.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
      to += resultDistance;
      sumb0.reinterpretAsInts().max(low).min(high).reinterpretAsFloats().intoArray(result, to);
    }
  }
}
