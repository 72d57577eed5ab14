// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.util.Map;

/**
 * A burst as it is at one moment. Immutable.
 *
 * @param depth how many executions it takes at once
 * @param executions that have ended
 * @param sent requests that were sent to devices by it: at most one for each step of an execution
 * @param received how many of them the servers of the devices have read, as they say themselves
 * @param fallbacks how many steps were executed synchronously instead, by reason
 */
public record BurstInfo(
    int depth, long executions, long sent, long received, Map<String, Long> fallbacks) {
  public BurstInfo {
    fallbacks = Map.copyOf(fallbacks);
  }

  /** Returns how many steps were executed synchronously, whatever the reason. */
  public long fallbackCount() {
    return fallbacks.values().stream().mapToLong(Long::longValue).sum();
  }
}
