// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * A constant right matrix and what is added to each of its columns: multiplies blocks of rows.
 * Immutable and thread-safe.
 */
public final class Product {
  /** Rows that a kernel takes at a time. */
  static final int ROWS = BroadKernels.FIT ? BroadKernels.ROWS : MatrixKernels.ROWS;

  /** So many rows behind the last group are cheaper one by one than as a group. */
  private static final int MOST_SINGLES = 2;

  private final PackedMatrix right;
  private final float[] bias;
  private final float[] zeros;

  /** A product; the bias is by column. */
  public Product(PackedMatrix right, float[] bias) {
    this.right = right;
    this.bias = Arrays.copyOf(bias, bias.length + 2 * Lanes.SLACK);
    this.zeros = new float[bias.length + 2 * Lanes.SLACK];
  }

  public int columns() {
    return right.columns();
  }

  public int depth() {
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
  public void multiply(
      Rows rows, int firstDepth, int endDepth, int firstColumn, int endColumn, Clamp clamp) {
    int depth = endDepth - firstDepth;
    float[] start = firstDepth == 0 ? bias : zeros;
    int column = firstColumn;
    if (rows.areScalar) {
      for (; column < endColumn; column += right.width(column)) {
        int width = right.width(column);
        int present = Math.min(width, right.columns() - column);
        MemorySegment.copy(
            right.data(),
            ValueLayout.JAVA_FLOAT,
            right.offset(column, firstDepth),
            rows.panel,
            0,
            depth * width);
        ScalarKernels.product(
            rows, rows.panel, 0, width, depth, start, zeros, column, present, clamp);
      }
      return;
    }
    if (rows.count == 1) {
      int wide = PackedMatrix.SINGLE;
      for (; column + wide <= Math.min(endColumn, right.columns()); column += wide) {
        single(rows, 0, firstDepth, depth, start, column, clamp);
      }
    }
    for (; column < endColumn; column += right.width(column)) {
      panel(rows, firstDepth, depth, start, column, clamp);
    }
  }

  /** All rows times the panel that begins at a column. */
  private void panel(Rows rows, int firstDepth, int depth, float[] start, int column, Clamp clamp) {
    int width = right.width(column);
    long panel = right.offset(column, firstDepth);
    boolean isWhole = rows.isPadded || right.columns() - column >= width;
    int rest = rows.count / ROWS * ROWS;
    if (isWhole) {
      groups(rows, rest / ROWS, panel, depth, start, column, clamp);
    } else {
      for (int row = 0; row < rest; row += ROWS) {
        tile(rows, row, ROWS, panel, depth, start, column, clamp);
      }
    }
    if (isWhole && width == PackedMatrix.SINGLE && rows.count - rest <= MOST_SINGLES) {
      for (; rest < rows.count; rest++) {
        single(rows, rest, firstDepth, depth, start, column, clamp);
      }
    } else if (rest < rows.count) {
      tile(rows, rest, rows.count - rest, panel, depth, start, column, clamp);
    }
  }

  /** Groups of rows with a panel all of whose columns exist. */
  private void groups(
      Rows rows, int groups, long panel, int depth, float[] start, int column, Clamp clamp) {
    kernel(
        rows,
        0,
        groups,
        panel,
        depth,
        start,
        column,
        rows.added == null ? zeros : rows.added,
        rows.addedAt,
        rows.addedDistance,
        rows.result,
        rows.resultAt,
        rows.resultDistance,
        clamp);
  }

  /**
   * A group of rows or columns of which some do not exist: by way of a tile, from which those are
   * copied that do.
   */
  private void tile(
      Rows rows,
      int first,
      int count,
      long panel,
      int depth,
      float[] start,
      int column,
      Clamp clamp) {
    int distance = PackedMatrix.WIDE;
    int present = Math.min(right.width(column), right.columns() - column);
    float[] added = rows.added == null ? zeros : rows.added;
    int addedAt = rows.addedAt + first * rows.addedDistance;
    int addedDistance = rows.addedDistance;
    if (rows.added != null && count < ROWS) {
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
      int first,
      int groups,
      long panel,
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
    MemorySegment data = right.data();
    int low = clamp.low();
    int high = clamp.high();
    int width = right.width(column);
    if (!BroadKernels.FIT) {
      if (width == PackedMatrix.WIDE) {
        MatrixKernels.wide(
            left,
            leftAt,
            groups,
            right.array(),
            PackedMatrix.index(panel),
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
            right.array(),
            PackedMatrix.index(panel),
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
      return;
    }
    for (int group = 0; group < groups; group++) {
      int row = group * ROWS;
      if (width < 2 * Lanes.COUNT) {
        BroadKernels.narrow(
            left,
            leftAt + row * Rows.DISTANCE,
            data,
            panel,
            depth,
            start,
            column,
            added,
            addedAt + row * addedDistance,
            addedDistance,
            result,
            resultAt + row * resultDistance,
            resultDistance,
            low,
            high);
      } else if (width < PackedMatrix.WIDE) {
        BroadKernels.half(
            left,
            leftAt + row * Rows.DISTANCE,
            data,
            panel,
            depth,
            start,
            column,
            added,
            addedAt + row * addedDistance,
            addedDistance,
            result,
            resultAt + row * resultDistance,
            resultDistance,
            low,
            high);
      } else {
        BroadKernels.wide(
            left,
            leftAt + row * Rows.DISTANCE,
            data,
            panel,
            depth,
            start,
            column,
            added,
            addedAt + row * addedDistance,
            addedDistance,
            result,
            resultAt + row * resultDistance,
            resultDistance,
            low,
            high);
      }
    }
  }

  private void single(
      Rows rows, int row, int firstDepth, int depth, float[] start, int column, Clamp clamp) {
    float[] added = rows.added == null ? zeros : rows.added;
    int leftAt = rows.leftAt + row * Rows.DISTANCE;
    int addedAt = rows.addedAt + row * rows.addedDistance;
    int resultAt = rows.resultAt + row * rows.resultDistance;
    long panel = right.offset(column, firstDepth);
    if (BroadKernels.FIT) {
      BroadKernels.single(
          rows.left,
          leftAt,
          right.data(),
          panel,
          depth,
          start,
          column,
          added,
          addedAt,
          0,
          rows.result,
          resultAt,
          0,
          clamp.low(),
          clamp.high());
    } else {
      MatrixKernels.single(
          rows.left,
          leftAt,
          right.array(),
          PackedMatrix.index(panel),
          PackedMatrix.index(right.offset(column + PackedMatrix.WIDE, firstDepth)),
          depth,
          start,
          column,
          added,
          addedAt,
          rows.result,
          resultAt,
          clamp.low(),
          clamp.high());
    }
  }
}
