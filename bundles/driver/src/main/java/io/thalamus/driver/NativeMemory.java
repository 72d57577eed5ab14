// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/** Memory outside the heap, within the limit of this JVM; with the HAL's errors. Stateless. */
final class NativeMemory {
  private static final long MEBI = 1 << 20;

  private NativeMemory() {}

  /**
   * Checks that a run can have its memory at all.
   *
   * @param bytes of the whole frame
   * @throws DeviceException with RESOURCE_EXHAUSTED_PERSISTENT if this JVM may never have so much
   */
  static void check(long bytes) throws DeviceException {
    if (isTooLarge(bytes)) {
      throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT, tooLarge(bytes));
    }
  }

  /**
   * Allocates bytes of any content.
   *
   * @throws StoppedException with RESOURCE_EXHAUSTED_PERSISTENT if this JVM may never have so much,
   *     with RESOURCE_EXHAUSTED_TRANSIENT if it has not now
   */
  static MemorySegment allocate(SegmentAllocator memory, long bytes) {
    if (isTooLarge(bytes)) {
      throw new StoppedException(ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT, tooLarge(bytes), null);
    }
    try {
      return memory.allocate(Math.max(1, bytes), MemoryPlan.ALIGNMENT).asSlice(0, bytes);
    } catch (OutOfMemoryError e) {
      throw exhausted(bytes + " bytes", e);
    }
  }

  /** Returns the exception for an execution that finds no memory. */
  static StoppedException exhausted(String what, OutOfMemoryError cause) {
    return new StoppedException(
        ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "there is no room for " + what + " now", cause);
  }

  /** Memory outside the heap has the heap's limit unless another one is set. */
  private static boolean isTooLarge(long bytes) {
    return bytes > Runtime.getRuntime().maxMemory();
  }

  private static String tooLarge(long bytes) {
    return "that takes %d MiB, but this JVM has %d: start it with a larger -Xmx"
        .formatted(bytes / MEBI, Runtime.getRuntime().maxMemory() / MEBI);
  }
}
