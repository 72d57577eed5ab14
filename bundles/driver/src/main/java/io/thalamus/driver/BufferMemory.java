// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.Operand;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The bytes of one buffer of a device. Owned by the buffer, which closes it once, when nothing
 * reads or writes them any more; {@link ManagedBuffer} orders the threads that use it.
 */
public interface BufferMemory extends AutoCloseable {
  /** Returns the bytes, of any content at first. */
  MemorySegment bytes();

  /** Frees the bytes. */
  @Override
  void close();

  /** The memory that a device has for buffers. Thread-safe. */
  @FunctionalInterface
  interface Source {
    /**
     * Allocates bytes for a buffer.
     *
     * @param operand whose type every value has
     * @throws DeviceException with RESOURCE_EXHAUSTED_PERSISTENT if the device never has so much,
     *     with RESOURCE_EXHAUSTED_TRANSIENT if it has not now
     */
    BufferMemory allocate(Operand operand, long bytes) throws DeviceException;
  }

  /**
   * Checks that this JVM may have so much memory at all.
   *
   * @throws DeviceException with RESOURCE_EXHAUSTED_PERSISTENT if it never may
   */
  static void checkRoom(long bytes) throws DeviceException {
    NativeMemory.check(bytes);
  }

  /** Allocates memory of this process outside the heap, for devices that compute on the host. */
  static BufferMemory ofHost(long bytes) throws DeviceException {
    checkRoom(bytes);
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
