// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Memories that are kept mapped until this is closed. Owned by whoever holds them. */
final class Leases implements AutoCloseable {
  private final List<SharedMemory.Lease> leases;

  private Leases(List<SharedMemory.Lease> leases) {
    this.leases = leases;
  }

  /**
   * Holds memories, all or none.
   *
   * @param what they hold, for the message
   * @throws DeviceException with GENERAL_FAILURE where one is closed
   */
  static Leases hold(Collection<SharedMemory> memories, String what) throws DeviceException {
    Leases held = new Leases(new ArrayList<>(memories.size()));
    try {
      for (SharedMemory memory : memories) {
        held.leases.add(memory.lend());
      }
      return held;
    } catch (IllegalStateException e) {
      held.close();
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "a memory that holds " + what + " is closed", e);
    }
  }

  /**
   * Holds the memories that the arguments of a request stand in, besides buffers.
   *
   * @throws DeviceException with GENERAL_FAILURE where one is closed
   */
  static Leases ofPools(List<MemoryPool> pools) throws DeviceException {
    List<SharedMemory> memories = new ArrayList<>(pools.size());
    for (MemoryPool pool : pools) {
      if (pool instanceof MemoryPool.Shared shared) {
        memories.add(shared.memory());
      }
    }
    return hold(memories, "arguments");
  }

  @Override
  public void close() {
    leases.forEach(SharedMemory.Lease::close);
  }
}
