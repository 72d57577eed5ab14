// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * The lines of elements along an axis: an element stands at {@code (outer * size + index) * inner +
 * rest}.
 */
record Lines(int outer, int size, int inner) {
  static Lines of(int[] shape, int axis) {
    int outer = 1;
    int inner = 1;
    for (int i = 0; i < shape.length; i++) {
      outer *= i < axis ? shape[i] : 1;
      inner *= i > axis ? shape[i] : 1;
    }
    return new Lines(outer, shape[axis], inner);
  }

  /** The places along the axis. */
  IntStream indexes() {
    return IntStream.range(0, size);
  }

  int at(int line, int index) {
    return (line / inner * size + index) * inner + line % inner;
  }

  /** Calls with the elements of each line. */
  void each(Consumer<int[]> elements) {
    for (int l = 0; l < outer * inner; l++) {
      int line = l;
      elements.accept(indexes().map(index -> at(line, index)).toArray());
    }
  }
}
