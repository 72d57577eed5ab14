// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/**
 * A block of rows that a matrix product works on: where the rows of the left matrix stand, those
 * that are added to the product, and those of the result; and four of them at a time, for the
 * kernels. Used by one thread.
 */
final class Rows {
  /** Rows of the block. */
  int count;

  float[] left;
  int leftAt;
  int leftDistance;

  float[] added;
  int addedAt;
  int addedDistance;

  float[] result;
  int resultAt;
  int resultDistance;

  int left0;
  int left1;
  int left2;
  int left3;
  int added0;
  int added1;
  int added2;
  int added3;
  int result0;
  int result1;
  int result2;
  int result3;

  /** The rows of the left matrix: the first, and the distance from one to the next. */
  void left(float[] array, int at, int distance) {
    left = array;
    leftAt = at;
    leftDistance = distance;
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

  /** Four rows from {@code first} on; the block's last one is repeated where there are less. */
  void take(int first) {
    int second = Math.min(first + 1, count - 1);
    int third = Math.min(first + 2, count - 1);
    int fourth = Math.min(first + 3, count - 1);
    left0 = leftAt + first * leftDistance;
    left1 = leftAt + second * leftDistance;
    left2 = leftAt + third * leftDistance;
    left3 = leftAt + fourth * leftDistance;
    added0 = addedAt + first * addedDistance;
    added1 = addedAt + second * addedDistance;
    added2 = addedAt + third * addedDistance;
    added3 = addedAt + fourth * addedDistance;
    result0 = resultAt + first * resultDistance;
    result1 = resultAt + second * resultDistance;
    result2 = resultAt + third * resultDistance;
    result3 = resultAt + fourth * resultDistance;
  }
}
