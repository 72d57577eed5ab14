// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.memory.SharedMemory;
import java.util.Objects;

/** A memory that arguments of a request stand in. */
public sealed interface MemoryPool {
  /** Memory that any device can map. */
  record Shared(SharedMemory memory) implements MemoryPool {
    public Shared {
      Objects.requireNonNull(memory, "memory");
    }
  }

  /** A buffer that the executing device allocated. */
  record Device(DeviceBuffer buffer) implements MemoryPool {
    public Device {
      Objects.requireNonNull(buffer, "buffer");
    }
  }
}
