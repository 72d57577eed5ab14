// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.coupling;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** The results of all pairs of a run. Thread-safe while it is filled. */
public final class CouplingReport {
  /** The number of single-operation examples that AOSP's test couples. */
  public static final int AOSP_COUNT = 879;

  private final Map<String, Integer> coupled = new TreeMap<>();
  private final List<String> examples = new ArrayList<>();
  private final Map<String, Integer> unsupported = new TreeMap<>();
  private final List<Failure> failures = new ArrayList<>();

  CouplingReport() {}

  synchronized void addCoupled(String operation, String example) {
    examples.add(example);
    coupled.merge(operation, 1, Integer::sum);
  }

  synchronized void addUnsupported(String operation) {
    unsupported.merge(operation, 1, Integer::sum);
  }

  synchronized void addFailure(String example, String reason) {
    failures.add(new Failure(example, reason));
  }

  /** Returns how many pairs were both supported, both correct and equal, by operation. */
  public synchronized Map<String, Integer> coupled() {
    return new TreeMap<>(coupled);
  }

  /** The examples of all pairs that were coupled. */
  public synchronized List<String> coupledExamples() {
    return List.copyOf(examples);
  }

  /** Returns how many pairs the device takes neither of, by operation. */
  public synchronized Map<String, Integer> unsupported() {
    return new TreeMap<>(unsupported);
  }

  public synchronized List<Failure> failures() {
    return List.copyOf(failures);
  }

  /** All pairs. */
  public synchronized int tried() {
    return failures.size() + sum(coupled) + sum(unsupported);
  }

  static int sum(Map<String, Integer> counts) {
    return counts.values().stream().mapToInt(Integer::intValue).sum();
  }

  /** A pair that is not coupled. */
  public record Failure(String example, String reason) {
    public Failure {
      Objects.requireNonNull(example, "example");
      Objects.requireNonNull(reason, "reason");
    }

    /** All of it in one line. */
    public String text() {
      return example + ": " + reason;
    }
  }
}
