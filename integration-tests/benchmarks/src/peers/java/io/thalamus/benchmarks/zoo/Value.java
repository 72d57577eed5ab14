// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A tensor at the border of a model.
 *
 * @param elements the format of its elements
 * @param shape its dimensions; none for a scalar
 * @param bytes the elements as they are stored
 * @param scale of quantized elements; 0 for others
 */
record Value(Elements elements, Shape shape, byte[] bytes, float scale) {
  /** Returns the number of elements. */
  int count() {
    return bytes.length / elements.size();
  }

  /** Returns an element as it is stored; a truth value as 0 or 1. */
  double get(int index) {
    double stored = elements.getDouble(MemorySegment.ofArray(bytes), index);
    return elements == Elements.BOOL8 && stored != 0 ? 1 : stored;
  }

  /** Returns numbers in a format, as an input wants them. */
  static Value of(Elements elements, Shape shape, double[] numbers) {
    byte[] bytes = new byte[numbers.length * elements.size()];
    MemorySegment segment = MemorySegment.ofArray(bytes);
    for (int i = 0; i < numbers.length; i++) {
      elements.setDouble(segment, i, numbers[i]);
    }
    return new Value(elements, shape, bytes, 0);
  }

  /** Returns the dimensions, of which those of 1 that lead count for nothing. */
  int[] trimmed() {
    int[] sizes = shape.toArray();
    int from = 0;
    while (from < sizes.length && sizes[from] == 1) {
      from++;
    }
    return Arrays.copyOfRange(sizes, from, sizes.length);
  }

  /** Returns format and dimensions. */
  String text() {
    return elements + " " + shape;
  }
}
