// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.memory.SharedMemory;
import java.util.Objects;

/**
 * A fast message queue in shared memory: one writer, one reader, elements of one size.
 *
 * @param memory holds the counters, the event flag and the ring
 * @param capacity number of elements
 * @param elementSize bytes of an element
 */
public record QueueDescriptor(SharedMemory memory, int capacity, int elementSize) {
  public QueueDescriptor {
    Objects.requireNonNull(memory, "memory");
    if (capacity <= 0 || elementSize <= 0) {
      throw new IllegalArgumentException(
          "capacity " + capacity + " and element size " + elementSize + " must be positive");
    }
  }
}
