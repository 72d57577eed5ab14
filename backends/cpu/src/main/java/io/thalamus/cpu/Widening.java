// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Copies of elements as native floats and ints, which are read more than once. Stateless. */
final class Widening {
  private Widening() {}

  /** Writes all elements as native floats to an index of another segment. */
  static void floats(
      WorkMeter work,
      Elements elements,
      MemorySegment from,
      long count,
      MemorySegment to,
      long toIndex) {
    for (long i = 0; i < count; i++) {
      work.done(1);
      to.setAtIndex(ValueLayout.JAVA_FLOAT, toIndex + i, elements.getFloat(from, i));
    }
  }

  /** Writes all elements, less a zero point, as native ints to an index of another segment. */
  static void ints(
      WorkMeter work,
      Elements elements,
      MemorySegment from,
      int zeroPoint,
      long count,
      MemorySegment to,
      long toIndex) {
    for (long i = 0; i < count; i++) {
      work.done(1);
      to.setAtIndex(ValueLayout.JAVA_INT, toIndex + i, elements.getInt(from, i) - zeroPoint);
    }
  }
}
