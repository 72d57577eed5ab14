// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Elements of one packet in private memory: what another process wrote is copied here before it is
 * looked at, so that it cannot change between a check and its use. Used by one thread at a time.
 */
public final class Datums {
  /** Bytes of an element of either queue. */
  public static final int SIZE = 24;

  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

  private byte[] bytes = new byte[16 * SIZE];
  private MemorySegment segment = MemorySegment.ofArray(bytes);
  private int count;

  /** Returns the number of elements. */
  public int count() {
    return count;
  }

  /** Returns the elements, and room behind them. Valid until the number of elements grows. */
  public MemorySegment segment() {
    return segment;
  }

  /** Sets the number of elements; their contents are what they were, or zero. */
  public void resize(int elements) {
    if (elements * SIZE > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(elements * SIZE, 2 * bytes.length));
      segment = MemorySegment.ofArray(bytes);
    }
    count = elements;
  }

  /** Appends an element of zeros with this discriminator, and returns its index. */
  int append(byte tag) {
    int index = count;
    resize(count + 1);
    Arrays.fill(bytes, index * SIZE, (index + 1) * SIZE, (byte) 0);
    bytes[index * SIZE] = tag;
    return index;
  }

  /** Returns whether an element is there and has this discriminator. */
  boolean is(int index, byte tag) {
    return index >= 0 && index < count && bytes[index * SIZE] == tag;
  }

  /** Returns whether the first elements are the same bytes as those of another packet. */
  boolean startsWith(Datums other, int elements) {
    return count >= elements
        && Arrays.equals(bytes, 0, elements * SIZE, other.bytes, 0, elements * SIZE);
  }

  /** Returns whether this and another packet are the same bytes. */
  boolean isSame(Datums other) {
    return count == other.count && startsWith(other, count);
  }

  void copyFrom(Datums other) {
    resize(other.count);
    System.arraycopy(other.bytes, 0, bytes, 0, count * SIZE);
  }

  byte getByte(int index, int offset) {
    return bytes[index * SIZE + offset];
  }

  int getInt(int index, int offset) {
    return segment.get(INT, index * SIZE + offset);
  }

  long getLong(int index, int offset) {
    return segment.get(LONG, index * SIZE + offset);
  }

  void setByte(int index, int offset, int value) {
    bytes[index * SIZE + offset] = (byte) value;
  }

  void setInt(int index, int offset, int value) {
    segment.set(INT, index * SIZE + offset, value);
  }

  void setLong(int index, int offset, long value) {
    segment.set(LONG, index * SIZE + offset, value);
  }
}
