// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.api.CompilationCache.Looks;
import io.thalamus.runtime.events.CacheEvent;
import io.thalamus.runtime.events.CacheEvent.Outcome;
import io.thalamus.runtime.events.Recordings;
import java.util.List;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLongArray;

/** The results of looks at the cache, counted for each device. Thread-safe. */
final class CacheLooks {
  private final ConcurrentSkipListMap<String, AtomicLongArray> counts =
      new ConcurrentSkipListMap<>();

  /** Counts a look, and tells those who record events. */
  void add(String device, String step, Outcome outcome, String message) {
    counts
        .computeIfAbsent(device, _ -> new AtomicLongArray(Outcome.values().length))
        .incrementAndGet(outcome.ordinal());
    if (Recordings.arePossible()) {
      CacheEvent.tell(device, step, outcome, message);
    }
  }

  /** Returns the counts, by the ids of the devices. */
  List<Looks> all() {
    return counts.entrySet().stream()
        .map(
            device ->
                new Looks(
                    device.getKey(),
                    device.getValue().get(Outcome.HIT.ordinal())
                        + device.getValue().get(Outcome.STALE.ordinal()),
                    device.getValue().get(Outcome.MISS.ordinal()),
                    device.getValue().get(Outcome.REFUSED.ordinal()),
                    device.getValue().get(Outcome.UNAVAILABLE.ordinal())))
        .toList();
  }
}
