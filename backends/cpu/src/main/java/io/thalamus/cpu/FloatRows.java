// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import java.lang.foreign.MemorySegment;

/**
 * Rows of numbers that recurrent cells work on: operands in their own type on one side, scratch
 * memory in float on the other, where a state keeps its precision from step to step. Indexes are in
 * elements.
 */
record FloatRows(Elements elements) {
  float get(MemorySegment operand, long index) {
    return elements.getFloat(operand, index);
  }

  /** Copies a row of an operand into scratch memory. */
  void load(
      WorkMeter work, MemorySegment operand, long from, MemorySegment scratch, long to, int count) {
    work.done(count);
    for (int i = 0; i < count; i++) {
      Elements.FLOAT32.setFloat(scratch, to + i, elements.getFloat(operand, from + i));
    }
  }

  /** Copies a row of scratch memory into an operand. */
  void store(
      WorkMeter work, MemorySegment scratch, long from, MemorySegment operand, long to, int count) {
    work.done(count);
    for (int i = 0; i < count; i++) {
      elements.setFloat(operand, to + i, Elements.FLOAT32.getFloat(scratch, from + i));
    }
  }

  /** The product of a row of a matrix and a row of scratch memory. */
  float dot(
      WorkMeter work,
      MemorySegment matrix,
      long row,
      MemorySegment scratch,
      long vector,
      int count) {
    float sum = 0;
    work.done(count);
    for (int i = 0; i < count; i++) {
      sum +=
          elements.getFloat(matrix, row * count + i)
              * Elements.FLOAT32.getFloat(scratch, vector + i);
    }
    return sum;
  }
}
