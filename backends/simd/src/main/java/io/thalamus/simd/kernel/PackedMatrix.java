// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A constant right matrix, packed once for the kernels: panels of some vectors of columns, row
 * after row within a panel. The last panels have fewer vectors where these are enough; the last one
 * is filled up with zeros. Immutable.
 *
 * <p>For {@link BroadKernels} outside the heap, where memory can begin at a cache line: a collector
 * puts arrays anywhere, and a vector of 64 bytes that straddles two lines takes so long that these
 * kernels lose a third of their speed. Shorter vectors straddle seldom, and {@link MatrixKernels}
 * gain nothing by it. Memory outside the heap is freed when nobody can reach it any more.
 */
public final class PackedMatrix {
  /** Bytes of a cache line. */
  private static final long ALIGNMENT = 64;

  /** Rows that are packed at a time. */
  private static final int PACKED_ROWS = 64;

  /** Columns of a wide panel. */
  public static final int WIDE = (BroadKernels.FIT ? 4 : 2) * Lanes.COUNT;

  /** Columns that are multiplied with a single row at a time: of wide panels, one or two. */
  static final int SINGLE = 4 * Lanes.COUNT;

  /** The same as an array, where there is one; else null. */
  private final float[] array;

  private final MemorySegment data;
  private final int rows;
  private final int columns;

  private PackedMatrix(int rows, int columns) {
    this.rows = rows;
    this.columns = columns;
    long size = (long) rows * (Lanes.roundUp(columns) + Lanes.COUNT) + Lanes.SLACK;
    if (BroadKernels.FIT) {
      array = null;
      data = Arena.ofAuto().allocate(size * Float.BYTES, ALIGNMENT);
    } else {
      array = new float[Math.toIntExact(Lanes.LEAD + size)];
      data = MemorySegment.ofArray(array).asSlice((long) Lanes.LEAD * Float.BYTES);
    }
  }

  /** The elements of a matrix. */
  @FunctionalInterface
  public interface Elements {
    float get(int row, int column);
  }

  /** Packs a matrix. */
  public static PackedMatrix of(int rows, int columns, Elements elements) {
    PackedMatrix matrix = new PackedMatrix(rows, columns);
    float[] packed = new float[PACKED_ROWS * WIDE];
    for (int column = 0; column < columns; column += matrix.width(column)) {
      int width = matrix.width(column);
      int present = Math.min(width, columns - column);
      for (int first = 0; first < rows; first += PACKED_ROWS) {
        int count = Math.min(PACKED_ROWS, rows - first);
        for (int row = 0; row < count; row++) {
          for (int i = 0; i < width; i++) {
            packed[row * width + i] = i < present ? elements.get(first + row, column + i) : 0;
          }
        }
        MemorySegment.copy(
            packed,
            0,
            matrix.data,
            ValueLayout.JAVA_FLOAT,
            matrix.offset(column, first),
            count * width);
      }
    }
    return matrix;
  }

  /**
   * A matrix that was packed before, on a processor with the same {@linkplain #layout() layout}.
   *
   * @param packed its {@link #data}
   * @throws IndexOutOfBoundsException if these are not the bytes of such a matrix
   */
  public static PackedMatrix of(int rows, int columns, MemorySegment packed) {
    PackedMatrix matrix = new PackedMatrix(rows, columns);
    MemorySegment.copy(packed, 0, matrix.data, 0, matrix.data.byteSize());
    return matrix;
  }

  /** Returns what decides about the places of elements: it is the same where matrices are. */
  public static String layout() {
    return Lanes.COUNT + " " + WIDE + " " + BroadKernels.FIT;
  }

  /** Returns all panels. */
  public MemorySegment data() {
    return data;
  }

  /** As {@link #data}, for {@link MatrixKernels}. */
  float[] array() {
    return array;
  }

  /** Returns the index in the array of a place of {@link #offset}. */
  static int index(long offset) {
    return Lanes.LEAD + (int) (offset / Float.BYTES);
  }

  /** Returns the number of rows. */
  public int rows() {
    return rows;
  }

  /** Returns the number of columns. */
  public int columns() {
    return columns;
  }

  /** The width of the panel that begins at a column. */
  int width(int column) {
    int left = columns - column;
    if (left > WIDE - Lanes.COUNT) {
      return WIDE;
    }
    return left > Lanes.COUNT ? 2 * Lanes.COUNT : Lanes.COUNT;
  }

  /** Returns the place of a row in the panel that begins at a column, in bytes. */
  long offset(int column, int row) {
    return ((long) rows * column + (long) row * width(column)) * Float.BYTES;
  }
}
