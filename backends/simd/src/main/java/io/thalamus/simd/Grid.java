// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/**
 * How the result of a matrix product is cut into tiles: blocks of rows times ranges of columns.
 * Immutable.
 *
 * @param rows of the result
 * @param columns of the result
 * @param blockRows rows of a tile
 * @param blockColumns columns of a tile; whole panels
 */
record Grid(int rows, int columns, int blockRows, int blockColumns) {
  /** Rows of a tile at most. */
  private static final int MOST_ROWS = 64;

  /**
   * A grid for a product.
   *
   * @param rows of the result
   * @param columns of the result
   * @param depth of the product
   * @param held floats that a tile holds for each of its rows
   * @param budget how the work may be divided
   */
  static Grid of(int rows, int columns, int depth, int held, Budget budget) {
    int tiles = budget.tiles((long) rows * columns * depth);
    int cached = Math.max(8, Budget.CACHED_FLOATS / Math.max(1, held));
    int most = Math.min(MOST_ROWS, cached);
    int blockRows = Math.min(rows, Math.min(most, roundUp((rows + tiles - 1) / tiles, 4)));
    int rowBlocks = (rows + blockRows - 1) / blockRows;
    int columnBlocks = Math.max(1, tiles / rowBlocks);
    int blockColumns =
        Math.min(columns, roundUp((columns + columnBlocks - 1) / columnBlocks, PackedMatrix.WIDE));
    if (rowBlocks < tiles && blockRows < 16 && blockRows < rows) {
      // Few rows for each reading of the right matrix: rather cut the columns.
      blockRows = Math.min(rows, Math.min(most, 16));
    }
    return new Grid(rows, columns, blockRows, blockColumns);
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
