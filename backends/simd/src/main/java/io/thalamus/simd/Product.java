// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import java.util.Arrays;

/**
 * A constant right matrix and what is added to each of its columns: multiplies blocks of rows.
 * Immutable and thread-safe.
 */
final class Product {
  private final PackedMatrix right;
  private final float[] bias;
  private final float[] zeros;

  /** A product; the bias is by column. */
  Product(PackedMatrix right, float[] bias) {
    this.right = right;
    this.bias = Arrays.copyOf(bias, bias.length + Lanes.SLACK);
    this.zeros = new float[bias.length + Lanes.SLACK];
  }

  int columns() {
    return right.columns();
  }

  int depth() {
    return right.rows();
  }

  /** Lets nothing be added to the rows of a block. */
  void addNothing(Rows rows) {
    rows.added(zeros, 0, 0);
  }

  /**
   * Multiplies a block of rows with a range of columns over a part of the depth. The first part
   * adds the bias.
   *
   * @param rows the block; its left rows begin at {@code firstDepth}
   * @param firstDepth where the part begins
   * @param endDepth one behind its last
   * @param firstColumn at which a panel begins
   * @param endColumn one behind the last
   */
  void multiply(
      Rows rows, int firstDepth, int endDepth, int firstColumn, int endColumn, Clamp clamp) {
    float[] data = right.data();
    float[] start = firstDepth == 0 ? bias : zeros;
    int depth = endDepth - firstDepth;
    for (int column = firstColumn; column < endColumn; ) {
      int width = right.width(column);
      int panel = right.offset(column) + firstDepth * width;
      if (width == PackedMatrix.WIDE) {
        for (int row = 0; row < rows.count; row += 4) {
          rows.take(row);
          MatrixKernels.wide(rows, data, panel, depth, start, column, clamp);
        }
      } else {
        int present = Math.min(width, right.columns() - column);
        for (int row = 0; row < rows.count; row += 4) {
          rows.take(row);
          MatrixKernels.narrow(rows, data, panel, depth, start, column, present, clamp);
        }
      }
      column += width;
    }
  }

  /** Multiplies a single row, its whole depth. */
  void multiplySingle(Rows rows, int firstColumn, int endColumn, Clamp clamp) {
    rows.take(0);
    int column = firstColumn;
    int depth = right.rows();
    for (; column + 2 * PackedMatrix.WIDE <= endColumn; column += 2 * PackedMatrix.WIDE) {
      MatrixKernels.single(rows, right.data(), right.offset(column), depth, bias, column, clamp);
    }
    multiply(rows, 0, depth, column, endColumn, clamp);
  }
}
