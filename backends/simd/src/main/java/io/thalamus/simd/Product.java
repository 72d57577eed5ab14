// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import java.util.Arrays;

/**
 * A constant right matrix and what is added to each of its columns: multiplies blocks of rows.
 * Immutable and thread-safe.
 */
final class Product {
  /** Rows that a kernel takes at a time. */
  private static final int GROUP = 4;

  private final PackedMatrix right;
  private final float[] bias;
  private final float[] zeros;

  /** A product; the bias is by column. */
  Product(PackedMatrix right, float[] bias) {
    this.right = right;
    this.bias = Arrays.copyOf(bias, bias.length + 2 * Lanes.SLACK);
    this.zeros = new float[bias.length + 2 * Lanes.SLACK];
  }

  int columns() {
    return right.columns();
  }

  int depth() {
    return right.rows();
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
    int column = firstColumn;
    if (rows.count == 1 && firstDepth == 0 && endDepth == right.rows()) {
      column = multiplySingle(rows, firstColumn, endColumn, clamp);
    }
    int groups = rows.count / GROUP;
    for (; column < endColumn; column += right.width(column)) {
      if (groups > 0) {
        multiply(rows, 0, 1, groups, firstDepth, endDepth, column, clamp);
      }
      // A row of the rest is taken four times; each time the same is written to the same place.
      for (int row = groups * GROUP; row < rows.count; row++) {
        multiply(rows, row, 0, 1, firstDepth, endDepth, column, clamp);
      }
    }
  }

  /** Groups of rows with one panel; rows stand {@code step} times their distance apart. */
  private void multiply(
      Rows rows,
      int first,
      int step,
      int groups,
      int firstDepth,
      int endDepth,
      int column,
      Clamp clamp) {
    float[] start = firstDepth == 0 ? bias : zeros;
    int width = right.width(column);
    int panel = right.offset(column) + firstDepth * width;
    int depth = endDepth - firstDepth;
    int present = Math.min(width, right.columns() - column);
    int left = rows.leftAt + first * rows.leftDistance;
    int leftStep = step * rows.leftDistance;
    int result = rows.resultAt + first * rows.resultDistance;
    int resultStep = step * rows.resultDistance;
    if (present == PackedMatrix.WIDE && rows.added == null) {
      MatrixKernels.wide(
          rows.left,
          left,
          leftStep,
          groups,
          right.data(),
          panel,
          depth,
          start,
          column,
          rows.result,
          result,
          resultStep,
          clamp.low(),
          clamp.high());
      return;
    }
    float[] added = rows.added == null ? zeros : rows.added;
    int addedAt = rows.addedAt + first * rows.addedDistance;
    int addedStep = step * rows.addedDistance;
    if (present == PackedMatrix.WIDE) {
      MatrixKernels.wideAdded(
          rows.left,
          left,
          leftStep,
          groups,
          right.data(),
          panel,
          depth,
          start,
          column,
          added,
          addedAt,
          addedStep,
          rows.result,
          result,
          resultStep,
          clamp.low(),
          clamp.high());
    } else if (width == PackedMatrix.WIDE) {
      MatrixKernels.wideRest(
          rows.left,
          left,
          leftStep,
          groups,
          right.data(),
          panel,
          depth,
          start,
          column,
          present,
          added,
          addedAt,
          addedStep,
          rows.result,
          result,
          resultStep,
          clamp.low(),
          clamp.high());
    } else {
      MatrixKernels.narrowRest(
          rows.left,
          left,
          leftStep,
          groups,
          right.data(),
          panel,
          depth,
          start,
          column,
          present,
          added,
          addedAt,
          addedStep,
          rows.result,
          result,
          resultStep,
          clamp.low(),
          clamp.high());
    }
  }

  /** Multiplies a single row with pairs of panels; returns the column behind them. */
  private int multiplySingle(Rows rows, int firstColumn, int endColumn, Clamp clamp) {
    float[] added = rows.added == null ? zeros : rows.added;
    int column = firstColumn;
    for (; column + 2 * PackedMatrix.WIDE <= endColumn; column += 2 * PackedMatrix.WIDE) {
      MatrixKernels.single(
          rows.left,
          rows.leftAt,
          right.data(),
          right.offset(column),
          right.rows(),
          bias,
          column,
          added,
          rows.addedAt,
          rows.result,
          rows.resultAt,
          clamp.low(),
          clamp.high());
    }
    return column;
  }
}
