// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * A right matrix and what is added to each of its columns: multiplies blocks of rows. Immutable and
 * thread-safe where its matrix is.
 */
public final class Product {
  /** Rows that a kernel takes at a time. */
  static final int ROWS = BroadKernels.FIT ? BroadKernels.ROWS : MatrixKernels.ROWS;

  /** Columns in whose multiples a range may begin and end wherever the matrix has more of them. */
  public static final int UNIT = Math.max(PackedMatrix.WIDE, PackedMatrix.SINGLE);

  /** So many rows behind the last group are cheaper one by one than as a group. */
  private static final int MOST_SINGLES = 2;

  /** So few columns leave most of a panel's vector unused: they are lines for a single row. */
  private static final int MOST_LINES = 4;

  private final PackedMatrix right;
  private final float[] bias;
  private final float[] zeros;

  /** The weights for a single row, without bias, where they are bytes; else null. */
  private final byte[] bytes;

  /** The weights for a single row of integers, column after column, where they are few; or null. */
  private final float[] lines;

  /**
   * True if sums are those of parts: of a single row, and of so few columns that this holds for all
   * of them. Equal columns have equal results.
   */
  private final boolean isDivided;

  /** A product with any number of rows; the bias is by column. */
  public Product(PackedMatrix right, float[] bias) {
    this(right, bias, 0);
  }

  /**
   * A product; the bias is by column.
   *
   * @param rows that the left matrix has at most, or 0 for any number. The sums of a single one may
   *     be divided, since no number of tiles changes how.
   */
  public Product(PackedMatrix right, float[] bias, int rows) {
    this(right, bias, rows, null, null);
  }

  /**
   * Returns a product of integers, without bias.
   *
   * @param rows of the left matrix. For one, all time goes into reading the right one, of which a
   *     quarter is read if its elements are bytes.
   */
  public static Product ofIntegers(PackedMatrix right, int rows) {
    byte[] bytes = rows == 1 ? right.singles() : null;
    float[] lines = rows == 1 && right.columns() <= MOST_LINES ? right.lines() : null;
    return new Product(right, new float[right.columns()], rows, bytes, lines);
  }

  private Product(PackedMatrix right, float[] bias, int rows, byte[] bytes, float[] lines) {
    this.right = right;
    isDivided =
        rows == 1 && right.columns() < PackedMatrix.SINGLE && right.width(0) <= 2 * Lanes.COUNT;
    this.bytes = bytes;
    this.lines = lines;
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
   * Packs the right matrix, where it stands in memory of a thread.
   *
   * @param rows of the thread
   * @param at index of the first element
   * @param rowStride elements from one row to the next
   * @param columnStride elements from one column to the next
   */
  public void pack(Rows rows, float[] from, int at, int rowStride, int columnStride) {
    right.pack(from, at, rowStride, columnStride, rows.panel);
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
        if (isDivided) {
          ScalarKernels.divided(rows, width, depth, start, zeros, column, present, clamp);
        } else {
          ScalarKernels.product(rows, width, depth, start, zeros, column, present, clamp);
        }
      }
      return;
    }
    if (lines != null) {
      for (; column < Math.min(endColumn, right.columns()); column++) {
        int at = column * right.rows() + firstDepth;
        float sum = SingleKernels.dot(rows.left, rows.leftAt, lines, at, depth);
        rows.result[rows.resultAt + column] = sum;
      }
      return;
    }
    if (rows.count == 1) {
      int wide = PackedMatrix.SINGLE;
      for (; column + wide <= Math.min(endColumn, right.columns()); column += wide) {
        if (bytes == null) {
          single(rows, 0, firstDepth, depth, start, column, clamp);
        } else {
          int from = column * right.rows() + firstDepth * wide;
          int to = rows.resultAt + column;
          MatrixKernels.singleOfBytes(rows.left, rows.leftAt, bytes, from, depth, rows.result, to);
        }
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
    float[] added = rows.added == null ? zeros : rows.added;
    int addedAt = rows.addedAt;
    int addedRow = rows.addedDistance;
    float[] result = rows.result;
    int resultAt = rows.resultAt;
    int resultRow = rows.resultDistance;
    kernel(
        rows, 0, groups, panel, depth, start, column, added, addedAt, addedRow, result, resultAt,
        resultRow, clamp);
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
    int wide = PackedMatrix.WIDE;
    int present = Math.min(right.width(column), right.columns() - column);
    float[] added = rows.added == null ? zeros : rows.added;
    int addedAt = rows.addedAt + first * rows.addedDistance;
    int addedRow = rows.addedDistance;
    if (rows.added != null && count < ROWS) {
      // Behind the last row the array may end.
      for (int i = 0; i < count; i++) {
        int from = addedAt + i * addedRow + column;
        System.arraycopy(added, from, rows.tile, i * wide, present);
      }
      added = rows.tile;
      addedAt = -column;
      addedRow = wide;
    }
    float[] tile = rows.tile;
    int before = -column;
    if (count == 1 && (isDivided || right.width(column) == PackedMatrix.SINGLE)) {
      int from = rows.leftAt + first * Rows.DISTANCE;
      row(rows.left, from, panel, depth, start, column, added, addedAt, tile, before, clamp);
    } else {
      kernel(
          rows, first, 1, panel, depth, start, column, added, addedAt, addedRow, tile, before, wide,
          clamp);
    }
    float[] result = rows.result;
    int next = rows.resultDistance;
    int resultAt = rows.resultAt + first * next + column;
    Lanes.copyExactly(tile, 0, wide, result, resultAt, next, present, count);
  }

  /** One row with a panel whose sums are divided, or which is as wide as a single one can be. */
  private void row(
      float[] left,
      int leftAt,
      long panel,
      int depth,
      float[] start,
      int column,
      float[] added,
      int addedAt,
      float[] result,
      int resultAt,
      Clamp clamp) {
    MemorySegment data = right.data();
    int low = clamp.low();
    int high = clamp.high();
    int width = right.width(column);
    if (width == Lanes.COUNT) {
      SingleKernels.narrow(
          left, leftAt, data, panel, depth, start, column, added, addedAt, result, resultAt, low,
          high);
    } else if (width == 2 * Lanes.COUNT) {
      SingleKernels.wide(
          left, leftAt, data, panel, depth, start, column, added, addedAt, result, resultAt, low,
          high);
    } else {
      BroadKernels.single(
          left, leftAt, data, panel, depth, start, column, added, addedAt, 0, result, resultAt, 0,
          low, high);
    }
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
      int addedRow,
      float[] result,
      int resultAt,
      int resultRow,
      Clamp clamp) {
    float[] left = rows.left;
    int leftAt = rows.leftAt + first * Rows.DISTANCE;
    MemorySegment data = right.data();
    int low = clamp.low();
    int high = clamp.high();
    int width = right.width(column);
    if (!BroadKernels.FIT) {
      float[] array = right.array();
      int index = PackedMatrix.index(panel);
      if (width == PackedMatrix.WIDE) {
        MatrixKernels.wide(
            left, leftAt, groups, array, index, depth, start, column, added, addedAt, addedRow,
            result, resultAt, resultRow, low, high);
      } else {
        MatrixKernels.narrow(
            left, leftAt, groups, array, index, depth, start, column, added, addedAt, addedRow,
            result, resultAt, resultRow, low, high);
      }
      return;
    }
    for (int group = 0; group < groups; group++) {
      int row = group * ROWS;
      int from = leftAt + row * Rows.DISTANCE;
      int sums = addedAt + row * addedRow;
      int to = resultAt + row * resultRow;
      if (width < 2 * Lanes.COUNT) {
        BroadKernels.narrow(
            left, from, data, panel, depth, start, column, added, sums, addedRow, result, to,
            resultRow, low, high);
      } else if (width < PackedMatrix.WIDE) {
        BroadKernels.half(
            left, from, data, panel, depth, start, column, added, sums, addedRow, result, to,
            resultRow, low, high);
      } else {
        BroadKernels.wide(
            left, from, data, panel, depth, start, column, added, sums, addedRow, result, to,
            resultRow, low, high);
      }
    }
  }

  private void single(
      Rows rows, int row, int firstDepth, int depth, float[] start, int column, Clamp clamp) {
    float[] added = rows.added == null ? zeros : rows.added;
    float[] left = rows.left;
    float[] result = rows.result;
    int from = rows.leftAt + row * Rows.DISTANCE;
    int addedAt = rows.addedAt + row * rows.addedDistance;
    int to = rows.resultAt + row * rows.resultDistance;
    long panel = right.offset(column, firstDepth);
    int low = clamp.low();
    int high = clamp.high();
    if (BroadKernels.FIT) {
      MemorySegment data = right.data();
      BroadKernels.single(
          left, from, data, panel, depth, start, column, added, addedAt, 0, result, to, 0, low,
          high);
    } else {
      float[] array = right.array();
      int first = PackedMatrix.index(panel);
      int second = PackedMatrix.index(right.offset(column + PackedMatrix.WIDE, firstDepth));
      MatrixKernels.single(
          left, from, array, first, second, depth, start, column, added, addedAt, result, to, low,
          high);
    }
  }
}
