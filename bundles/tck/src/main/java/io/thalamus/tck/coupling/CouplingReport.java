// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.coupling;

import io.thalamus.vectors.Outcome;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The results of all pairs of a run. Immutable.
 *
 * @param pairs in the order of their examples
 */
public record CouplingReport(List<Pair> pairs) {
  /** The number of single-operation examples that AOSP's test couples. */
  public static final int AOSP_COUNT = 879;

  public CouplingReport {
    pairs = List.copyOf(pairs);
  }

  /**
   * A pair of an example and its signed variant.
   *
   * @param outcome skipped where the device takes neither
   */
  public record Pair(String operation, String example, Outcome outcome) {
    public Pair {
      Objects.requireNonNull(operation, "operation");
      Objects.requireNonNull(example, "example");
      Objects.requireNonNull(outcome, "outcome");
    }

    /** All of it in one line. */
    public String text() {
      return example + Outcome.suffix(outcome);
    }
  }

  private Map<String, Integer> count(Class<? extends Outcome> kind) {
    Map<String, Integer> counts = new TreeMap<>();
    for (Pair pair : pairs) {
      if (kind.isInstance(pair.outcome())) {
        counts.merge(pair.operation(), 1, Integer::sum);
      }
    }
    return counts;
  }

  /** Returns how many pairs were both supported, both correct and equal, by operation. */
  public Map<String, Integer> coupled() {
    return count(Outcome.Passed.class);
  }

  /** Returns how many pairs the device takes neither of, by operation. */
  public Map<String, Integer> unsupported() {
    return count(Outcome.Skipped.class);
  }

  public List<Pair> failures() {
    return pairs.stream().filter(pair -> pair.outcome() instanceof Outcome.Failed).toList();
  }
}
