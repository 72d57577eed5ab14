// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

/**
 * A block of rows that a matrix product works on: where the rows of the left matrix stand, those
 * that are added to the product, and those of the result. Used by one thread.
 */
public final class Rows {
  /** Elements of a row of the left matrix at most: products of more are summed part by part. */
  public static final int LONGEST = 512;

  /**
   * From one row of the left matrix to the next. Constant, so that kernels address all rows from
   * one index; an odd number of cache lines, so that rows do not compete for the same places of a
   * cache.
   */
  public static final int DISTANCE = LONGEST + Math.max(16, Lanes.COUNT);

  /** True if the scalar twin of the kernels multiplies. */
  public boolean areScalar;

  /** Rows of the block. */
  public int count;

  public float[] left;
  int leftAt;

  /** Null where nothing is added. */
  public float[] added;

  int addedAt;
  int addedDistance;

  public float[] result;
  int resultAt;
  int resultDistance;

  /** True if rows of the result have room for whole panels; nothing may be added then. */
  boolean isPadded;

  /** For rows or columns of the result of which some do not exist. */
  final float[] tile = new float[Product.ROWS * PackedMatrix.WIDE + Lanes.SLACK];

  /** A panel of the right matrix, for the scalar twin. */
  final float[] panel = new float[LONGEST * PackedMatrix.WIDE];

  /** The rows of the left matrix, {@link #DISTANCE} apart. Room for a group is behind them. */
  public void left(float[] array, int at) {
    left = array;
    leftAt = at;
  }

  /** Nothing is added. */
  public void addNothing() {
    added = null;
    addedAt = 0;
    addedDistance = 0;
  }

  /** The rows that are added; column 0 of the first, and the distance from one to the next. */
  public void added(float[] array, int at, int distance) {
    added = array;
    addedAt = at;
    addedDistance = distance;
  }

  /** The rows of the result; column 0 of the first, and the distance from one to the next. */
  public void result(float[] array, int at, int distance) {
    result = array;
    resultAt = at;
    resultDistance = distance;
    isPadded = false;
  }

  /** As {@link #result}, for rows with room for whole panels behind them. */
  public void paddedResult(float[] array, int at, int distance) {
    result(array, at, distance);
    isPadded = true;
  }
}
