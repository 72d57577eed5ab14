// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/**
 * A block of rows that a matrix product works on: where the rows of the left matrix stand, those
 * that are added to the product, and those of the result. Used by one thread.
 */
final class Rows {
  /** Rows of the block. */
  int count;

  float[] left;
  int leftAt;
  int leftDistance;

  /** Null where nothing is added. */
  float[] added;

  int addedAt;
  int addedDistance;

  float[] result;
  int resultAt;
  int resultDistance;

  /** The rows of the left matrix: the first, and the distance from one to the next. */
  void left(float[] array, int at, int distance) {
    left = array;
    leftAt = at;
    leftDistance = distance;
  }

  /** Nothing is added. */
  void addNothing() {
    added = null;
    addedAt = 0;
    addedDistance = 0;
  }

  /** The rows that are added; column 0 of the first, and the distance from one to the next. */
  void added(float[] array, int at, int distance) {
    added = array;
    addedAt = at;
    addedDistance = distance;
  }

  /** The rows of the result; column 0 of the first, and the distance from one to the next. */
  void result(float[] array, int at, int distance) {
    result = array;
    resultAt = at;
    resultDistance = distance;
  }
}
