// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Optional;

/**
 * A right matrix, packed for the kernels: panels of some vectors of columns, row after row within a
 * panel. The last panels have fewer vectors where these are enough; the last one is filled up with
 * zeros. Immutable, but for those in memory of a thread.
 *
 * <p>For {@link BroadKernels} outside the heap, where memory can begin at a cache line: a collector
 * puts arrays anywhere, and a vector of 64 bytes that straddles two lines takes so long that these
 * kernels lose a third of their speed. Shorter vectors straddle seldom, and {@link MatrixKernels}
 * gain nothing by it. Memory outside the heap is freed when nobody can reach it any more.
 */
public final class PackedMatrix {
  /** Bytes of a cache line. */
  private static final long ALIGNMENT = 64;

  /** Values of a byte. */
  private static final int VALUES = 256;

  /** Elements that are made narrow or wide at a time. */
  private static final int CHUNK = 4096;

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

  private PackedMatrix(int rows, int columns, MemorySegment data) {
    this.rows = rows;
    this.columns = columns;
    this.array = null;
    this.data = data;
  }

  private static long size(int rows, int columns) {
    return (long) rows * (Lanes.roundUp(columns) + Lanes.COUNT) + Lanes.SLACK;
  }

  private PackedMatrix(int rows, int columns) {
    this.rows = rows;
    this.columns = columns;
    long size = size(rows, columns);
    if (BroadKernels.FIT) {
      array = null;
      data = Arena.ofAuto().allocate(size * Float.BYTES, ALIGNMENT);
    } else {
      array = new float[Math.toIntExact(Lanes.LEAD + size)];
      data = MemorySegment.ofArray(array).asSlice((long) Lanes.LEAD * Float.BYTES);
    }
  }

  /** Returns room for matrices that are packed again and again, of so many floats at most. */
  public static PackedMatrix room(int floats) {
    return new PackedMatrix(1, floats);
  }

  /** Returns the floats that a matrix takes. */
  public static int floats(int rows, int columns) {
    return Math.toIntExact(size(rows, columns));
  }

  /** Returns a matrix in the memory of {@link #room}, of which {@link #pack} makes something. */
  public static PackedMatrix in(PackedMatrix room, int rows, int columns) {
    return new PackedMatrix(rows, columns, room);
  }

  private PackedMatrix(int rows, int columns, PackedMatrix room) {
    this.rows = rows;
    this.columns = columns;
    this.array = room.array;
    this.data = room.data;
  }

  /**
   * Packs a matrix into memory that is this thread's own.
   *
   * @param at index of the first element
   * @param rowStride elements from one row to the next
   * @param columnStride elements from one column to the next
   * @param some room for {@link Rows#LONGEST} times {@link #WIDE} floats
   */
  void pack(float[] from, int at, int rowStride, int columnStride, float[] some) {
    for (int column = 0; column < columns; column += width(column)) {
      int width = width(column);
      int present = Math.min(width, columns - column);
      for (int first = 0; first < rows; first += PACKED_ROWS) {
        int count = Math.min(PACKED_ROWS, rows - first);
        int source = at + first * rowStride + column * columnStride;
        if (present < width) {
          Arrays.fill(some, 0, count * width, 0);
        }
        if (columnStride == 1) {
          for (int row = 0; row < count; row++) {
            System.arraycopy(from, source + row * rowStride, some, row * width, present);
          }
        } else {
          for (int i = 0; i < present; i++) {
            turn(from, source + i * columnStride, rowStride, some, i, width, count);
          }
        }
        MemorySegment.copy(
            some, 0, data, ValueLayout.JAVA_FLOAT, offset(column, first), count * width);
      }
    }
  }

  private static void turn(
      float[] from, int source, int rowStride, float[] some, int to, int width, int count) {
    for (int row = 0; row < count; row++) {
      some[to + row * width] = from[source + row * rowStride];
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
   * @param packed its {@link #data}, which is used where it is if it begins at a cache line outside
   *     the heap
   * @throws IndexOutOfBoundsException if these are not the bytes of such a matrix
   */
  public static PackedMatrix of(int rows, int columns, MemorySegment packed) {
    if (BroadKernels.FIT && packed.isNative() && packed.address() % ALIGNMENT == 0) {
      long bytes = size(rows, columns) * Float.BYTES;
      return new PackedMatrix(rows, columns, packed.asSlice(0, bytes).asReadOnly());
    }
    PackedMatrix matrix = new PackedMatrix(rows, columns);
    MemorySegment.copy(packed, 0, matrix.data, 0, matrix.data.byteSize());
    return matrix;
  }

  /**
   * The elements of a matrix of integers as bytes, in the order of its {@link #data}: a quarter of
   * the room.
   *
   * @param least of the elements, which a byte of 0 stands for
   */
  public record Narrow(int least, byte[] bytes) {}

  /** Returns the elements as bytes, where all are integers and no two are further apart. */
  public Optional<Narrow> narrow() {
    float[] chunk = new float[CHUNK];
    float least = Float.POSITIVE_INFINITY;
    float most = Float.NEGATIVE_INFINITY;
    boolean isWhole = true;
    int size = (int) (data.byteSize() / Float.BYTES);
    for (int at = 0; at < size; at += CHUNK) {
      int count = Math.min(CHUNK, size - at);
      MemorySegment.copy(data, ValueLayout.JAVA_FLOAT, (long) at * Float.BYTES, chunk, 0, count);
      for (int i = 0; i < count; i++) {
        least = Math.min(least, chunk[i]);
        most = Math.max(most, chunk[i]);
        // By bits: a zero may be negative.
        isWhole &= Float.floatToIntBits(chunk[i]) == Float.floatToIntBits((int) chunk[i]);
      }
    }
    if (!isWhole || !(most - least < VALUES) || Math.abs(least) > VALUES) {
      return Optional.empty();
    }
    byte[] bytes = new byte[size];
    for (int at = 0; at < size; at += CHUNK) {
      int count = Math.min(CHUNK, size - at);
      MemorySegment.copy(data, ValueLayout.JAVA_FLOAT, (long) at * Float.BYTES, chunk, 0, count);
      for (int i = 0; i < count; i++) {
        bytes[at + i] = (byte) (chunk[i] - least);
      }
    }
    return Optional.of(new Narrow((int) least, bytes));
  }

  /**
   * A matrix that was packed before and made {@link #narrow}.
   *
   * @param least as it was there
   * @throws IndexOutOfBoundsException if these are not the bytes of such a matrix
   */
  public static PackedMatrix of(int rows, int columns, int least, MemorySegment bytes) {
    PackedMatrix matrix = new PackedMatrix(rows, columns);
    float[] values = new float[VALUES];
    for (int i = 0; i < VALUES; i++) {
      values[i] = least + i;
    }
    byte[] narrow = new byte[CHUNK];
    float[] chunk = new float[CHUNK];
    int size = (int) (matrix.data.byteSize() / Float.BYTES);
    for (int at = 0; at < size; at += CHUNK) {
      int count = Math.min(CHUNK, size - at);
      MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, at, narrow, 0, count);
      widen(narrow, values, chunk, count);
      MemorySegment.copy(
          chunk, 0, matrix.data, ValueLayout.JAVA_FLOAT, (long) at * Float.BYTES, count);
    }
    return matrix;
  }

  /** A method of its own: called often, it is soon compiled in a new process. */
  private static void widen(byte[] bytes, float[] values, float[] out, int count) {
    for (int i = 0; i < count; i++) {
      out[i] = values[bytes[i] & 0xff];
    }
  }

  /**
   * Returns the columns that a single row is multiplied with together as bytes: for each range of
   * {@link #SINGLE} columns, row after row. Null if an element is no signed byte, or if nothing is
   * such a range.
   */
  byte[] singles() {
    int ranges = columns / SINGLE;
    if (Lanes.BYTES == null || ranges == 0) {
      return null;
    }
    byte[] bytes = new byte[Math.multiplyExact(ranges * SINGLE, rows)];
    float[] row = new float[WIDE];
    for (int column = 0; column < ranges * SINGLE; column += WIDE) {
      int range = column / SINGLE * SINGLE;
      for (int i = 0; i < rows; i++) {
        MemorySegment.copy(data, ValueLayout.JAVA_FLOAT, offset(column, i), row, 0, WIDE);
        int to = range * rows + i * SINGLE + column - range;
        for (int j = 0; j < WIDE; j++) {
          bytes[to + j] = (byte) row[j];
          if (bytes[to + j] != row[j]) {
            return null;
          }
        }
      }
    }
    return bytes;
  }

  /** Returns the columns as lines, one behind the other. */
  float[] lines() {
    float[] lines = new float[columns * rows];
    for (int column = 0; column < columns; column++) {
      int first = column - column % WIDE;
      for (int i = 0; i < rows; i++) {
        long at = offset(first, i) + (long) (column - first) * Float.BYTES;
        lines[column * rows + i] = data.get(ValueLayout.JAVA_FLOAT, at);
      }
    }
    return lines;
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
