// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Frame;
import java.util.List;

/** Tuples of indexes, which are checked, as places of elements. Immutable. */
final class Tuples {
  private final int[] dimensions;
  private final int[] strides;

  /**
   * @param dimensions that the indexes of a tuple are below
   * @param strides elements that one step of each index is
   */
  Tuples(List<Integer> dimensions, List<Long> strides) {
    this.dimensions = dimensions.stream().mapToInt(Integer::intValue).toArray();
    this.strides = strides.stream().mapToInt(Math::toIntExact).toArray();
  }

  /**
   * Returns the place that a tuple names; -1 if the run fails, since an index is out of bounds.
   *
   * @param indexes of all tuples, from an offset on
   */
  int place(Frame frame, int[] indexes, int offset, int tuple) {
    int size = dimensions.length;
    if (size == 1) {
      // Rows of a table, of which a lookup takes as long as a copy.
      int index = indexes[offset + tuple];
      if (index >= 0 && index < dimensions[0]) {
        return index * strides[0];
      }
    }
    int place = 0;
    for (int i = 0; i < size; i++) {
      int index = indexes[offset + tuple * size + i];
      if (index < 0 || index >= dimensions[i]) {
        frame.fail(
            "index %d is %d, outside of [0, %d)".formatted(tuple * size + i, index, dimensions[i]));
        return -1;
      }
      place += index * strides[i];
    }
    return place;
  }
}
