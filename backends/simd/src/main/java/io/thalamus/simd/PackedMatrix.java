// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/**
 * A constant right matrix, packed once for the kernels: panels of two vectors of columns, row after
 * row within a panel. The last panel is filled up with zeros; it has one vector where that is
 * enough. Immutable.
 *
 * <pre>
 * columns   |  2 vectors  |  2 vectors  | 1 vector, zeros |
 * row 0     |  0 ...      |             |                 |
 * row 1     |  2 * COUNT  |             |                 |
 * </pre>
 */
final class PackedMatrix {
  /** Columns of a wide panel. */
  static final int WIDE = 2 * Lanes.COUNT;

  private final float[] data;
  private final int rows;
  private final int columns;

  private PackedMatrix(float[] data, int rows, int columns) {
    this.data = data;
    this.rows = rows;
    this.columns = columns;
  }

  /** The elements of a matrix. */
  @FunctionalInterface
  interface Elements {
    float get(int row, int column);
  }

  /** Packs a matrix. */
  static PackedMatrix of(int rows, int columns, Elements elements) {
    long size = (long) rows * (Lanes.roundUp(columns) + Lanes.COUNT);
    float[] data = new float[Math.toIntExact(Lanes.LEAD + size + Lanes.SLACK)];
    PackedMatrix matrix = new PackedMatrix(data, rows, columns);
    for (int column = 0; column < columns; column += matrix.width(column)) {
      int width = matrix.width(column);
      int offset = matrix.offset(column);
      int present = Math.min(width, columns - column);
      for (int row = 0; row < rows; row++) {
        for (int i = 0; i < present; i++) {
          data[offset + row * width + i] = elements.get(row, column + i);
        }
      }
    }
    return matrix;
  }

  float[] data() {
    return data;
  }

  int rows() {
    return rows;
  }

  int columns() {
    return columns;
  }

  /** The width of the panel that begins at a column. */
  int width(int column) {
    return columns - column > Lanes.COUNT ? WIDE : Lanes.COUNT;
  }

  /** Where the panel begins that begins at a column. */
  int offset(int column) {
    return Lanes.LEAD + rows * column;
  }
}
