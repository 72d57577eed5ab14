// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.CacheOutcome;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.console.text.Units;
import java.util.List;

/** A few words about what the cache did. Stateless. */
final class CachePhrases {
  private CachePhrases() {}

  /** Returns what the cache did for a compilation. */
  static String describe(List<CacheOutcome> steps) {
    long restored = steps.stream().filter(step -> step.origin().isRestored()).count();
    long stored = count(steps, Origin.STORED);
    if (restored == steps.size()) {
      return "from the cache"
          + (count(steps, Origin.STALE) > 0 ? ", and compiled anew in the background" : "");
    }
    if (restored > 0) {
      return "%s of %s from the cache"
          .formatted(Units.count(restored), Units.plural(steps.size(), "step"));
    }
    if (stored > 0) {
      return "compiled, and stored for the next time";
    }
    return count(steps, Origin.NOT_STORED) > 0
        ? "compiled, and not stored: the files cannot be used now"
        : "compiled: no device of the plan caches";
  }

  private static long count(List<CacheOutcome> steps, Origin origin) {
    return steps.stream().filter(step -> step.origin() == origin).count();
  }
}
