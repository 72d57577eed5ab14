// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;

import jdk.incubator.vector.FloatVector;

/** Loops of LOCAL_RESPONSE_NORMALIZATION; elements behind a range are neither read nor written. */
public final class Responses {
  private Responses() {}

  /** Squares the elements of a range. */
  public static void square(float[] in, int from, float[] out, int to, int count) {
    int i = 0;
    for (; i <= count - COUNT; i += COUNT) {
      FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
      x.mul(x).intoArray(out, to + i);
    }
    for (; i < count; i++) {
      out[to + i] = in[from + i] * in[from + i];
    }
  }

  /**
   * Puts in the place of each element of a range {@code bias + alpha * sum}, where the sum is of
   * that element and of others behind it.
   *
   * @param distance between the elements that are added
   * @param terms how many are added
   */
  public static void measure(
      float[] squares, int from, int end, int distance, int terms, float alpha, float bias) {
    int i = from;
    // What is replaced is read by no element behind it.
    for (; i <= end - COUNT; i += COUNT) {
      FloatVector sum = FloatVector.fromArray(FLOATS, squares, i);
      for (int term = 1; term < terms; term++) {
        sum = sum.add(FloatVector.fromArray(FLOATS, squares, i + term * distance));
      }
      sum.mul(alpha).add(bias).intoArray(squares, i);
    }
    for (; i < end; i++) {
      float sum = squares[i];
      for (int term = 1; term < terms; term++) {
        sum += squares[i + term * distance];
      }
      squares[i] = sum * alpha + bias;
    }
  }

  /** Divides a range by the powers of measures; those of AlexNet and its kin by square roots. */
  public static void divide(
      float[] in, int from, float[] measures, int at, float power, float[] out, int to, int count) {
    if (power == 0.75f) {
      divideByRoots(in, from, measures, at, out, to, count);
      return;
    }
    for (int i = 0; i < count; i++) {
      out[to + i] = in[from + i] * (float) Math.pow(measures[at + i], -power);
    }
  }

  private static void divideByRoots(
      float[] in, int from, float[] measures, int at, float[] out, int to, int count) {
    int i = 0;
    for (; i <= count - COUNT; i += COUNT) {
      FloatVector root = FloatVector.fromArray(FLOATS, measures, at + i).sqrt();
      FloatVector.fromArray(FLOATS, in, from + i).div(root.mul(root.sqrt())).intoArray(out, to + i);
    }
    for (; i < count; i++) {
      float root = (float) Math.sqrt(measures[at + i]);
      out[to + i] = in[from + i] / (root * (float) Math.sqrt(root));
    }
  }
}
