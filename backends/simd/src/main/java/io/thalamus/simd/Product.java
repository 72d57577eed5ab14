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
   * @param endDepth one behind its last, {@link Rows#LONGEST} further at most
   * @param firstColumn at which a panel begins
   * @param endColumn one behind the last
   */
  void multiply(
      Rows rows, int firstDepth, int endDepth, int firstColumn, int endColumn, Clamp clamp) {
    int depth = endDepth - firstDepth;
    float[] start = firstDepth == 0 ? bias : zeros;
    int column = firstColumn;
    if (rows.areScalar) {
      for (; column < endColumn; column += right.width(column)) {
        int width = right.width(column);
        int panel = right.offset(column) + firstDepth * width;
        int present = Math.min(width, right.columns() - column);
        ScalarKernels.product(
            rows, right.data(), panel, width, depth, start, zeros, column, present, clamp);
      }
      return;
    }
    if (rows.count == 1) {
      for (; column + 2 * PackedMatrix.WIDE <= endColumn; column += 2 * PackedMatrix.WIDE) {
        single(rows, firstDepth, depth, start, column, clamp);
      }
    }
    int tall = TallKernels.FIT ? rows.count / TallKernels.ROWS : 0;
    int firstLow = tall * TallKernels.ROWS;
    int low = (rows.count - firstLow) / MatrixKernels.ROWS;
    int firstRest = firstLow + low * MatrixKernels.ROWS;
    for (; column < endColumn; column += right.width(column)) {
      int panel = right.offset(column) + firstDepth * right.width(column);
      if (right.columns() - column >= right.width(column)) {
        groups(rows, true, 0, tall, panel, depth, start, column, clamp);
        groups(rows, false, firstLow, low, panel, depth, start, column, clamp);
      } else {
        for (int row = 0; row < firstLow; row += TallKernels.ROWS) {
          tile(rows, true, row, TallKernels.ROWS, panel, depth, start, column, clamp);
        }
        for (int row = firstLow; row < firstRest; row += MatrixKernels.ROWS) {
          tile(rows, false, row, MatrixKernels.ROWS, panel, depth, start, column, clamp);
        }
      }
      if (firstRest < rows.count) {
        tile(rows, false, firstRest, rows.count - firstRest, panel, depth, start, column, clamp);
      }
    }
  }

  /** Groups of rows with a panel all of whose columns exist. */
  private void groups(
      Rows rows,
      boolean areTall,
      int first,
      int groups,
      int panel,
      int depth,
      float[] start,
      int column,
      Clamp clamp) {
    if (groups > 0) {
      kernel(
          rows,
          areTall,
          first,
          groups,
          panel,
          depth,
          start,
          column,
          rows.added == null ? zeros : rows.added,
          rows.addedAt + first * rows.addedDistance,
          rows.addedDistance,
          rows.result,
          rows.resultAt + first * rows.resultDistance,
          rows.resultDistance,
          clamp);
    }
  }

  /**
   * A group of rows or columns of which some do not exist: by way of a tile, from which those are
   * copied that do.
   */
  private void tile(
      Rows rows,
      boolean isTall,
      int first,
      int count,
      int panel,
      int depth,
      float[] start,
      int column,
      Clamp clamp) {
    int distance = PackedMatrix.WIDE;
    int present = Math.min(right.width(column), right.columns() - column);
    float[] added = rows.added == null ? zeros : rows.added;
    int addedAt = rows.addedAt + first * rows.addedDistance;
    int addedDistance = rows.addedDistance;
    if (rows.added != null && count < MatrixKernels.ROWS) {
      // Behind the last row the array may end.
      for (int i = 0; i < count; i++) {
        int from = addedAt + i * addedDistance + column;
        System.arraycopy(added, from, rows.tile, i * distance, present);
      }
      added = rows.tile;
      addedAt = -column;
      addedDistance = distance;
    }
    kernel(
        rows,
        isTall,
        first,
        1,
        panel,
        depth,
        start,
        column,
        added,
        addedAt,
        addedDistance,
        rows.tile,
        -column,
        distance,
        clamp);
    Lanes.copyExactly(
        rows.tile,
        0,
        distance,
        rows.result,
        rows.resultAt + first * rows.resultDistance + column,
        rows.resultDistance,
        present,
        count);
  }

  private void kernel(
      Rows rows,
      boolean isTall,
      int first,
      int groups,
      int panel,
      int depth,
      float[] start,
      int column,
      float[] added,
      int addedAt,
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      Clamp clamp) {
    float[] left = rows.left;
    int leftAt = rows.leftAt + first * Rows.DISTANCE;
    float[] data = right.data();
    int low = clamp.low();
    int high = clamp.high();
    boolean isWide = right.width(column) == PackedMatrix.WIDE;
    if (isTall && isWide) {
      TallKernels.wide(
          left,
          leftAt,
          groups,
          data,
          panel,
          depth,
          start,
          column,
          added,
          addedAt,
          addedDistance,
          result,
          resultAt,
          resultDistance,
          low,
          high);
    } else if (isTall) {
      TallKernels.narrow(
          left,
          leftAt,
          groups,
          data,
          panel,
          depth,
          start,
          column,
          added,
          addedAt,
          addedDistance,
          result,
          resultAt,
          resultDistance,
          low,
          high);
    } else if (isWide) {
      MatrixKernels.wide(
          left,
          leftAt,
          groups,
          data,
          panel,
          depth,
          start,
          column,
          added,
          addedAt,
          addedDistance,
          result,
          resultAt,
          resultDistance,
          low,
          high);
    } else {
      MatrixKernels.narrow(
          left,
          leftAt,
          groups,
          data,
          panel,
          depth,
          start,
          column,
          added,
          addedAt,
          addedDistance,
          result,
          resultAt,
          resultDistance,
          low,
          high);
    }
  }

  private void single(
      Rows rows, int firstDepth, int depth, float[] start, int column, Clamp clamp) {
    int second = column + PackedMatrix.WIDE;
    MatrixKernels.single(
        rows.left,
        rows.leftAt,
        right.data(),
        right.offset(column) + firstDepth * PackedMatrix.WIDE,
        right.offset(second) + firstDepth * PackedMatrix.WIDE,
        depth,
        start,
        column,
        rows.added == null ? zeros : rows.added,
        rows.addedAt,
        rows.result,
        rows.resultAt,
        clamp.low(),
        clamp.high());
  }
}
