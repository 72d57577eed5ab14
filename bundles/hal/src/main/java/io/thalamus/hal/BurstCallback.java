// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.memory.SharedMemory;
import java.util.List;

/** The way in which the server of a burst learns the memories behind unknown slots. */
@FunctionalInterface
public interface BurstCallback {
  /**
   * Returns the memories in these slots, in the same order.
   *
   * @throws DeviceException with INVALID_ARGUMENT where a slot holds none
   */
  List<SharedMemory> getMemories(int[] slots) throws DeviceException;
}
