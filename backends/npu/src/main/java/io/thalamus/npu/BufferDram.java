// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.driver.BufferMemory;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import java.lang.foreign.MemorySegment;

/**
 * The part of the device's DRAM that buffers stand in, of a fixed size. Thread-safe. It is memory
 * of the heap, as all of the simulated DRAM, and so distinguished from the host's: see {@link
 * #holds}.
 */
final class BufferDram implements BufferMemory.Source {
  private final int size;
  private long used;

  BufferDram(int size) {
    this.size = size;
  }

  /** Returns whether an argument stands in the device's DRAM, and need not be transferred. */
  static boolean holds(MemorySegment argument) {
    return !argument.isNative();
  }

  @Override
  public BufferMemory allocate(Operand operand, long bytes) throws DeviceException {
    take(bytes);
    try {
      MemorySegment segment = MemorySegment.ofArray(new byte[Math.toIntExact(bytes)]);
      return new BufferMemory() {
        @Override
        public MemorySegment bytes() {
          return segment;
        }

        @Override
        public void close() {
          giveBack(bytes);
        }
      };
    } catch (OutOfMemoryError e) {
      giveBack(bytes);
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT,
          "the host has no room now for a simulated buffer of " + bytes + " bytes",
          e);
    }
  }

  private synchronized void take(long bytes) throws DeviceException {
    if (bytes > size) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT,
          "a buffer of %d bytes is larger than the %d bytes of DRAM for buffers: see bufferBytes"
              .formatted(bytes, size));
    }
    if (bytes > size - used) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT,
          "%d of %d bytes of DRAM for buffers are taken, too many for %d more: close some buffers"
              .formatted(used, size, bytes));
    }
    used += bytes;
  }

  private synchronized void giveBack(long bytes) {
    used -= bytes;
  }
}
