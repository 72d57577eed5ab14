// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import java.util.HashMap;
import java.util.Map;

/**
 * A model that keeps nothing between executions, executed synchronously: all that is remembered for
 * it is which memory a slot has. Used by one thread at a time; the model is borrowed.
 */
final class SynchronousExecutor implements BurstExecutor {
  private final PreparedModel model;
  private final Map<Integer, SharedMemory.Lease> leases = new HashMap<>();

  SynchronousExecutor(PreparedModel model) {
    this.model = model;
  }

  @Override
  public boolean isCacheEntryPresent(int slot) {
    return leases.containsKey(slot);
  }

  @Override
  public void addCacheEntry(SharedMemory memory, int slot) {
    SharedMemory.Lease lease = memory.lend();
    removeCacheEntry(slot);
    leases.put(slot, lease);
  }

  @Override
  public void removeCacheEntry(int slot) {
    SharedMemory.Lease lease = leases.remove(slot);
    if (lease != null) {
      lease.close();
    }
  }

  @Override
  public ExecutionResult execute(Request request, int[] slots, ExecutionConfig config) {
    return model.execute(request, config);
  }
}
