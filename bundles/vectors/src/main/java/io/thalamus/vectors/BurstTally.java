// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.api.BurstInfo;
import java.util.Map;
import java.util.TreeMap;

/** The sums of what went by the bursts of all examples. Thread-safe. */
public final class BurstTally {
  private final Map<String, Long> fallbacks = new TreeMap<>();
  private long executions;
  private long sent;
  private long received;
  private long same;

  /** Adds a burst that is closed. */
  synchronized void count(BurstInfo burst) {
    executions += burst.executions();
    sent += burst.sent();
    received += burst.received();
    burst.fallbacks().forEach((reason, count) -> fallbacks.merge(reason, count, Long::sum));
  }

  /** Counts an execution whose outputs are those of the synchronous execution, byte for byte. */
  synchronized void countSame() {
    same++;
  }

  /** Returns how many executions wrote the same bytes as the synchronous execution. */
  public synchronized long same() {
    return same;
  }

  /** Returns how many executions were asked for by burst. */
  public synchronized long executions() {
    return executions;
  }

  /** Returns how many requests were sent to devices. */
  public synchronized long sent() {
    return sent;
  }

  /** Returns how many requests the servers have read. */
  public synchronized long received() {
    return received;
  }

  /** Returns how many steps were executed synchronously, by reason. */
  public synchronized Map<String, Long> fallbacks() {
    return Map.copyOf(fallbacks);
  }
}
