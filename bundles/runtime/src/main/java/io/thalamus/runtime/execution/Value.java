// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.model.Shape;
import io.thalamus.runtime.domain.MemoryBinding;
import java.lang.foreign.MemorySegment;

/**
 * The place of a value during one execution. Immutable.
 *
 * @param pool that holds it; null if the value is left out
 * @param offset in bytes
 * @param length in bytes; for an output that is not written yet, the room it has
 * @param shape the dimensions as far as they are known
 */
record Value(Pool pool, long offset, long length, Shape shape) {
  /** An optional input that is left out, or an output that is ignored. */
  static final Value OMITTED = new Value(null, 0, 0, Shape.NONE);

  boolean isOmitted() {
    return pool == null;
  }

  /** Returns the memory made for an argument that holds it; null if it is elsewhere. */
  MemoryBinding use() {
    return pool == null ? null : pool.use();
  }

  MemorySegment bytes() {
    return pool.segment().asSlice(offset, length);
  }

  /** The same place with what was written there. */
  Value written(long bytes, Shape actual) {
    return new Value(pool, offset, bytes, actual);
  }
}
