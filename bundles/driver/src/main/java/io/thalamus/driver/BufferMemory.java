// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The bytes of one buffer of a device. Owned by the buffer, which closes it once, when nothing
 * reads or writes them any more; used by any thread, as {@link ManagedBuffer} lets it.
 */
public interface BufferMemory extends AutoCloseable {
  /** The bytes, of any content at first. */
  MemorySegment bytes();

  /** Gives the bytes back. */
  @Override
  void close();

  /** Where a device has its buffers. Thread-safe. */
  @FunctionalInterface
  interface Source {
    /**
     * Bytes for a buffer.
     *
     * @throws DeviceException with RESOURCE_EXHAUSTED_PERSISTENT where the device never has so
     *     much, with RESOURCE_EXHAUSTED_TRANSIENT where it has not now
     */
    BufferMemory allocate(long bytes) throws DeviceException;
  }

  /** Memory of this process outside the heap: for devices that compute on the host. */
  static BufferMemory ofHost(long bytes) throws DeviceException {
    NativeMemory.check(bytes);
    Arena arena = Arena.ofShared();
    try {
      return of(NativeMemory.allocate(arena, bytes), arena);
    } catch (StoppedException e) {
      arena.close();
      throw new DeviceException(e.failed().status(), e.getMessage(), e);
    }
  }

  private static BufferMemory of(MemorySegment bytes, Arena arena) {
    return new BufferMemory() {
      @Override
      public MemorySegment bytes() {
        return bytes;
      }

      @Override
      public void close() {
        arena.close();
      }
    };
  }
}
