// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.util.Arrays;

/** A list of integers, or of the bits of real numbers, that grows with what a file holds. */
public final class Numbers {
  private long[] values = new long[0];
  private int size;

  void add(long value) {
    if (size == values.length) {
      values = Arrays.copyOf(values, Math.max(4, size + (size >> 1)));
    }
    values[size++] = value;
  }

  /** The number of values. */
  public int size() {
    return size;
  }

  /** One value. */
  public long get(int index) {
    return values[index];
  }

  /** A copy of all values. */
  public long[] toArray() {
    return Arrays.copyOf(values, size);
  }
}
