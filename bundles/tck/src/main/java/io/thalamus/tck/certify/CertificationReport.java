// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.vectors.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The results of all checks of a device. Immutable.
 *
 * @param device its name
 * @param findings in the order of their groups, with exceptions applied
 * @param duration of the whole run
 */
public record CertificationReport(String device, List<Finding> findings, Duration duration) {
  private static final int MOST_SHOWN = 20;
  private static final int MOST_REASONS = 4;

  public CertificationReport {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(duration, "duration");
    findings = List.copyOf(findings);
  }

  /** The counts of one group. */
  public record Count(long passed, long failed, long skipped) {
    static Count of(List<Finding> findings) {
      return new Count(
          count(findings, Outcome.Passed.class),
          count(findings, Outcome.Failed.class),
          count(findings, Outcome.Skipped.class));
    }

    private static long count(List<Finding> findings, Class<? extends Outcome> kind) {
      return findings.stream().filter(finding -> kind.isInstance(finding.outcome())).count();
    }

    /** {@code N passed, N failed, N skipped}. */
    public String text() {
      return passed + " passed, " + failed + " failed, " + skipped + " skipped";
    }
  }

  /** All checks. */
  public Count total() {
    return Count.of(findings);
  }

  /** By group, in the order in which they ran. */
  public Map<String, Count> groups() {
    Map<String, List<Finding>> by = new LinkedHashMap<>();
    findings.forEach(
        finding -> by.computeIfAbsent(finding.group(), _ -> new ArrayList<>()).add(finding));
    Map<String, Count> groups = new LinkedHashMap<>();
    by.forEach((group, list) -> groups.put(group, Count.of(list)));
    return groups;
  }

  public List<Finding> failures() {
    return findings.stream()
        .filter(finding -> finding.outcome() instanceof Outcome.Failed)
        .toList();
  }

  /** Returns how often each reason led to a skip. */
  public Map<String, Integer> skipReasons() {
    Map<String, Integer> reasons = new TreeMap<>();
    for (Finding finding : findings) {
      if (finding.outcome() instanceof Outcome.Skipped skipped) {
        reasons.merge(skipped.reason(), 1, Integer::sum);
      }
    }
    return reasons;
  }

  /**
   * Failures, the most frequent reasons of skips, a table of groups; the last line is {@link
   * Count#text} of all.
   */
  public String text() {
    List<String> lines = new ArrayList<>();
    List<Finding> failures = failures();
    failures.stream().limit(MOST_SHOWN).forEach(failure -> lines.add("failed " + failure.text()));
    if (failures.size() > MOST_SHOWN) {
      lines.add("... and " + (failures.size() - MOST_SHOWN) + " more");
    }
    lines.addAll(skipped());
    lines.add(row("group", "passed", "failed", "skipped"));
    groups()
        .forEach(
            (group, count) ->
                lines.add(row(group, count.passed(), count.failed(), count.skipped())));
    lines.add(String.format(Locale.ROOT, "%s, %.1f s", device, duration.toMillis() / 1000.0));
    lines.add(total().text());
    return String.join("\n", lines);
  }

  /** The most frequent reasons of each group, and how many checks were skipped for others. */
  private List<String> skipped() {
    List<String> lines = new ArrayList<>();
    Map<String, Map<String, Integer>> groups = new LinkedHashMap<>();
    for (Finding finding : findings) {
      if (finding.outcome() instanceof Outcome.Skipped skipped) {
        groups
            .computeIfAbsent(finding.group(), _ -> new TreeMap<>())
            .merge(skipped.reason(), 1, Integer::sum);
      }
    }
    groups.forEach(
        (group, reasons) -> {
          List<Map.Entry<String, Integer>> sorted =
              reasons.entrySet().stream()
                  .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
                  .toList();
          int shown = sorted.size() <= MOST_REASONS ? sorted.size() : MOST_REASONS - 1;
          for (Map.Entry<String, Integer> reason : sorted.subList(0, shown)) {
            lines.add("skipped " + reason.getValue() + " of " + group + ": " + reason.getKey());
          }
          if (shown < sorted.size()) {
            int rest =
                sorted.subList(shown, sorted.size()).stream().mapToInt(Map.Entry::getValue).sum();
            lines.add(
                "skipped "
                    + rest
                    + " of "
                    + group
                    + ": "
                    + (sorted.size() - shown)
                    + " other reasons");
          }
        });
    return lines;
  }

  private static String row(Object... cells) {
    return String.format(Locale.ROOT, "%-14s %8s %8s %8s", cells);
  }
}
