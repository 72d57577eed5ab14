// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Rows;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;

/**
 * The tiles of the result of a matrix product: blocks of rows times ranges of columns. Immutable.
 *
 * @param rows of the result
 * @param columns of the result
 * @param blockRows rows of a tile
 * @param blockColumns columns of a tile; whole panels
 */
public record Grid(int rows, int columns, int blockRows, int blockColumns) {
  /** Rows of a tile at most: as many of the left matrix as stay in the second-level cache. */
  private static final int MOST_ROWS = 204;

  /** Rows of a tile at least: the right matrix is read once for each tile. */
  private static final int LEAST_ROWS = 48;

  /** Rows that kernels take at a time, whatever the width of vectors. */
  private static final int GROUP = 12;

  /** Tiles of each thread that copy the same rows. */
  private static final int COLUMN_BLOCKS_PER_THREAD = 2;

  /**
   * A grid for a product.
   *
   * @param rows of the result
   * @param columns of the result
   * @param depth of the product
   * @param budget how the work may be divided
   */
  static Grid of(int rows, int columns, int depth, Budget budget) {
    int tiles = budget.blocks((long) rows * columns * depth);
    int blockRows =
        Math.min(
            rows, Math.clamp(roundUp(Math.ceilDiv(rows, tiles), GROUP), LEAST_ROWS, MOST_ROWS));
    if (rows - blockRows < GROUP && rows <= MOST_ROWS) {
      blockRows = rows;
    }
    int rowBlocks = Math.ceilDiv(rows, blockRows);
    int columnBlocks =
        Math.clamp(tiles / rowBlocks, 1, budget.threads() * COLUMN_BLOCKS_PER_THREAD);
    int blockColumns =
        Math.min(columns, roundUp(Math.ceilDiv(columns, columnBlocks), Product.UNIT));
    return new Grid(rows, columns, blockRows, blockColumns);
  }

  /** Returns the grid with tiles of so many columns at most; whole panels. */
  Grid withColumns(int most) {
    return new Grid(rows, columns, blockRows, Math.min(blockColumns, most));
  }

  /** Floats of the rows of the left matrix that a tile needs, as kernels read them. */
  int leftFloats() {
    return roundUp(blockRows, GROUP) * Rows.DISTANCE;
  }

  /**
   * Multiplies the rows of a tile with its columns over a part of the depth, and passes checkpoints
   * between ranges of columns.
   *
   * @return whether the execution goes on; if not, columns are left as they are
   */
  boolean multiply(
      Frame frame,
      Scratch scratch,
      int tile,
      Product product,
      int firstDepth,
      int endDepth,
      Clamp clamp) {
    return multiply(
        frame, scratch, product, firstDepth, endDepth, firstColumn(tile), endColumn(tile), clamp);
  }

  /** As the other, for columns of the product. */
  static boolean multiply(
      Frame frame,
      Scratch scratch,
      Product product,
      int firstDepth,
      int endDepth,
      int firstColumn,
      int endColumn,
      Clamp clamp) {
    Rows block = scratch.rows;
    int most = Budget.columns((long) block.count * (endDepth - firstDepth));
    int range = roundUp(Math.min(most, endColumn - firstColumn), Product.UNIT);
    for (int column = firstColumn; column < endColumn; column += range) {
      if (frame.isOver(scratch)) {
        return false;
      }
      int end = Math.min(endColumn, column + range);
      product.multiply(block, firstDepth, endDepth, column, end, clamp);
    }
    return true;
  }

  private static int roundUp(int value, int unit) {
    return (value + unit - 1) / unit * unit;
  }

  int columnBlocks() {
    return (columns + blockColumns - 1) / blockColumns;
  }

  int tiles() {
    return (rows + blockRows - 1) / blockRows * columnBlocks();
  }

  int firstRow(int tile) {
    return tile / columnBlocks() * blockRows;
  }

  int endRow(int tile) {
    return Math.min(rows, firstRow(tile) + blockRows);
  }

  int firstColumn(int tile) {
    return tile % columnBlocks() * blockColumns;
  }

  int endColumn(int tile) {
    return Math.min(columns, firstColumn(tile) + blockColumns);
  }
}
