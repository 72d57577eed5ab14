// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;

/**
 * Real values of a tensor: for each element the exact one, and the two between which every
 * conforming device ends, whatever it rounds on the way. Infinite bounds mean that anything goes.
 * The arrays must not be changed once they are handed on.
 *
 * @param low the least that is right
 * @param middle without any rounding
 * @param high the most that is right
 */
public record Bounds(double[] low, double[] middle, double[] high) {
  public Bounds {
    if (low.length != middle.length || high.length != middle.length) {
      throw new IllegalArgumentException(
          low.length + ", " + middle.length + " and " + high.length + " values");
    }
  }

  /** Bounds to be filled. */
  static Bounds empty(int size) {
    return new Bounds(new double[size], new double[size], new double[size]);
  }

  /** Values that are known exactly. */
  public static Bounds exact(double... values) {
    return new Bounds(values, values, values);
  }

  public int size() {
    return middle.length;
  }

  /** Returns whether an element can have one value only. */
  boolean isExact(int index) {
    return low[index] == high[index];
  }

  /** Sets an element; the order of the bounds is mended. */
  void set(int index, double newLow, double newMiddle, double newHigh) {
    low[index] = Math.min(newLow, newHigh);
    middle[index] = newMiddle;
    high[index] = Math.max(newLow, newHigh);
    if (Double.isNaN(low[index]) || Double.isNaN(high[index])) {
      low[index] = Double.NEGATIVE_INFINITY;
      high[index] = Double.POSITIVE_INFINITY;
    }
  }

  /** Takes an element over. */
  void copy(int index, Bounds from, int source) {
    low[index] = from.low[source];
    middle[index] = from.middle[source];
    high[index] = from.high[source];
  }

  /** A function that rises or falls everywhere on the bounds, of each element. */
  Bounds monotone(DoubleUnaryOperator function) {
    Bounds result = empty(size());
    for (int i = 0; i < size(); i++) {
      result.set(
          i,
          function.applyAsDouble(low[i]),
          function.applyAsDouble(middle[i]),
          function.applyAsDouble(high[i]));
    }
    return result;
  }

  /**
   * A function of two elements that rises or falls in each everywhere on the bounds: its extremes
   * are at the corners.
   */
  void setCorners(
      int index, Bounds a, int indexA, Bounds b, int indexB, DoubleBinaryOperator function) {
    double ll = function.applyAsDouble(a.low[indexA], b.low[indexB]);
    double lh = function.applyAsDouble(a.low[indexA], b.high[indexB]);
    double hl = function.applyAsDouble(a.high[indexA], b.low[indexB]);
    double hh = function.applyAsDouble(a.high[indexA], b.high[indexB]);
    set(
        index,
        Math.min(Math.min(ll, lh), Math.min(hl, hh)),
        function.applyAsDouble(a.middle[indexA], b.middle[indexB]),
        Math.max(Math.max(ll, lh), Math.max(hl, hh)));
  }
}
