// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;

/**
 * Moves elements from one place to another. All that matters of an element's type is its size, so
 * that one kernel serves all types.
 */
final class Moves {
  private final long size;

  private Moves(long size) {
    this.size = size;
  }

  /** Moves of elements of this type. */
  static Moves of(OperandType type) {
    return new Moves(type.elementSize());
  }

  /** Copies {@code count} elements from one index to another. */
  void copy(MemorySegment from, long fromIndex, MemorySegment to, long toIndex, long count) {
    MemorySegment.copy(from, fromIndex * size, to, toIndex * size, count * size);
  }

  /** A kernel whose output has the elements of its first input in the same order. */
  static Kernel unchanged() {
    return (inputs, outputs, scratch) -> outputs[0].copyFrom(inputs[0]);
  }
}
