// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The results of a run of a suite. Immutable.
 *
 * @param target what was run on
 * @param results by file and example
 * @param duration of the whole run
 */
public record SuiteReport(String target, List<Result> results, Duration duration) {
  public SuiteReport {
    Objects.requireNonNull(target, "target");
    Objects.requireNonNull(duration, "duration");
    results = List.copyOf(results);
  }

  public long passed() {
    return count(Outcome.Passed.class);
  }

  public long failed() {
    return count(Outcome.Failed.class);
  }

  public long skipped() {
    return count(Outcome.Skipped.class);
  }

  private long count(Class<? extends Outcome> kind) {
    return results.stream().filter(result -> kind.isInstance(result.outcome())).count();
  }

  /** The results that are failures. */
  public List<Result> failures() {
    return results.stream().filter(result -> result.outcome() instanceof Outcome.Failed).toList();
  }

  /** Returns how often each reason led to a skip. */
  public Map<String, Integer> skipReasons() {
    return Outcome.skipReasons(results.stream().map(Result::outcome));
  }

  /** {@code N passed, N failed, N skipped}. */
  public String summary() {
    return passed() + " passed, " + failed() + " failed, " + skipped() + " skipped";
  }

  /**
   * Writes the results as JUnit's XML, one suite for each file.
   *
   * @throws IOException where the file cannot be written
   */
  public void writeJUnitXml(Path file) throws IOException {
    JUnitXml.write(this, file);
  }

  /**
   * The result of one example.
   *
   * @param file {@code folder/file.json}
   * @param example its name; empty where the file itself is damaged
   * @param outcome how it ended
   * @param duration from decoding to judging
   */
  public record Result(String file, String example, Outcome outcome, Duration duration) {
    public Result {
      Objects.requireNonNull(file, "file");
      Objects.requireNonNull(example, "example");
      Objects.requireNonNull(outcome, "outcome");
      Objects.requireNonNull(duration, "duration");
    }

    /** File, example and reason in one line; for a passed example without a reason. */
    public String text() {
      return (example.isEmpty() ? file : file + " " + example) + Outcome.suffix(outcome);
    }
  }
}
