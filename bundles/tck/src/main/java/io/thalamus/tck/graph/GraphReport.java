// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** The results of all graphs of a run. Thread-safe while it is filled. */
public final class GraphReport {
  private final Map<String, Integer> operations = new TreeMap<>();
  private final Map<Long, String> skipped = new TreeMap<>();
  private final List<Failure> failures = new ArrayList<>();
  private final SortedSet<Long> passed = new TreeSet<>();
  private long elements;
  private long narrow;

  GraphReport() {}

  synchronized void addPassed(long seed, Example example, long graphElements, long graphNarrow) {
    passed.add(seed);
    elements += graphElements;
    narrow += graphNarrow;
    example
        .main()
        .operations()
        .forEach(operation -> operations.merge(operation.type(), 1, Integer::sum));
  }

  synchronized void addSkipped(long seed, String reason) {
    skipped.put(seed, reason);
  }

  synchronized void addFailure(Failure failure) {
    failures.add(failure);
  }

  public synchronized int passed() {
    return passed.size();
  }

  /** The seeds of the graphs that passed, in their order. */
  public synchronized List<Long> passedSeeds() {
    return List.copyOf(passed);
  }

  /** Returns why graphs were not run, with counts. */
  public synchronized Map<String, Integer> skipped() {
    Map<String, Integer> reasons = new TreeMap<>();
    skipped.values().forEach(reason -> reasons.merge(reason, 1, Integer::sum));
    return reasons;
  }

  /** Returns why graphs were not run, by seed. */
  public synchronized SortedMap<Long, String> skippedSeeds() {
    return new TreeMap<>(skipped);
  }

  /** Returns how often each operation occurs in the graphs that passed. */
  public synchronized Map<String, Integer> operations() {
    return new TreeMap<>(operations);
  }

  /** Returns how many output elements were compared. */
  public synchronized long elements() {
    return elements;
  }

  /** Returns how many of them had bounds narrow enough to tell right from wrong. */
  public synchronized long narrow() {
    return narrow;
  }

  public synchronized List<Failure> failures() {
    return List.copyOf(failures);
  }

  /**
   * A graph on which the device is wrong.
   *
   * @param seed of the whole graph
   * @param reason what is wrong with the whole graph
   * @param smallest the smallest graph found that fails as well
   * @param smallestReason what is wrong with that
   */
  public record Failure(long seed, String reason, Example smallest, String smallestReason) {
    public Failure {
      Objects.requireNonNull(reason, "reason");
      Objects.requireNonNull(smallest, "smallest");
      Objects.requireNonNull(smallestReason, "smallestReason");
    }

    /** The operations of the smallest graph, and what is wrong with it. */
    public String text() {
      return "seed "
          + seed
          + ": "
          + String.join("+", smallest.main().operations().stream().map(o -> o.type()).toList())
          + ": "
          + smallestReason;
    }
  }
}
