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
import java.util.stream.Collectors;

/**
 * The results of all checks of a device. Immutable.
 *
 * @param device its name
 * @param findings in the order of their groups, with exceptions applied
 * @param badPackets that bursts answered as they have to
 * @param onDeadlines the examples that ran with deadlines
 * @param duration of the whole run
 */
public record CertificationReport(
    String device, List<Finding> findings, long badPackets, long onDeadlines, Duration duration) {
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

  private Map<String, List<Finding>> byGroup() {
    return findings.stream()
        .collect(Collectors.groupingBy(Finding::group, LinkedHashMap::new, Collectors.toList()));
  }

  /** By group, in the order in which they ran. */
  public Map<String, Count> groups() {
    Map<String, Count> groups = new LinkedHashMap<>();
    byGroup().forEach((group, list) -> groups.put(group, Count.of(list)));
    return groups;
  }

  public List<Finding> failures() {
    return findings.stream()
        .filter(finding -> finding.outcome() instanceof Outcome.Failed)
        .toList();
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
    byGroup().forEach((group, list) -> lines.addAll(skipped(group, list)));
    lines.add(row("group", "passed", "failed", "skipped"));
    groups()
        .forEach(
            (group, count) ->
                lines.add(row(group, count.passed(), count.failed(), count.skipped())));
    lines.add(
        String.format(
            Locale.ROOT,
            "%s, %,d bad packets answered, %,d examples with deadlines, %.1f s",
            device,
            badPackets,
            onDeadlines,
            duration.toMillis() / 1000.0));
    lines.add(total().text());
    return String.join("\n", lines);
  }

  /** The most frequent reasons of a group, and how many checks were skipped for others. */
  private static List<String> skipped(String group, List<Finding> findings) {
    List<Map.Entry<String, Integer>> reasons =
        Outcome.skipReasons(findings.stream().map(Finding::outcome)).entrySet().stream()
            .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
            .toList();
    int shown = reasons.size() <= MOST_REASONS ? reasons.size() : MOST_REASONS - 1;
    List<String> lines = new ArrayList<>();
    for (Map.Entry<String, Integer> reason : reasons.subList(0, shown)) {
      lines.add("skipped " + reason.getValue() + " of " + group + ": " + reason.getKey());
    }
    List<Map.Entry<String, Integer>> others = reasons.subList(shown, reasons.size());
    if (!others.isEmpty()) {
      int checks = others.stream().mapToInt(Map.Entry::getValue).sum();
      lines.add("skipped " + checks + " of " + group + ": " + others.size() + " other reasons");
    }
    return lines;
  }

  private static String row(Object... cells) {
    return String.format(Locale.ROOT, "%-14s %8s %8s %8s", cells);
  }
}
