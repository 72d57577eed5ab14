// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * A prepared model that keeps memories between the executions of one burst: NNAPI's
 * IBurstExecutorWithCache. Called by one thread at a time.
 */
@ConsumerType
public interface BurstExecutor {
  /**
   * Returns whether the memory of a slot is kept, as it is from {@link #addCacheEntry} to {@link
   * #removeCacheEntry}. Asked when a request is not one of the last few, or a slot was freed.
   */
  boolean isCacheEntryPresent(int slot);

  /**
   * Keeps a memory under a slot, in place of what the slot had. It is lent until the entry is
   * removed, or replaced.
   */
  void addCacheEntry(SharedMemory memory, int slot);

  /** Lets go of the memory in a slot; an unknown slot is ignored. */
  void removeCacheEntry(int slot);

  /**
   * Executes, in all as {@link io.thalamus.hal.PreparedModel#execute} does.
   *
   * @param request the same object as in the execution before when the packets say the same, so
   *     that what was derived from it holds still
   * @param slots one for each pool of the request; negative for the buffer of a device. All others
   *     are present
   */
  ExecutionResult execute(Request request, int[] slots, ExecutionConfig config);

  /**
   * The burst has ended, and nothing is called any more: what was kept for it can go. Entries were
   * removed before.
   */
  default void ended() {}
}
