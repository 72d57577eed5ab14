// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.vectors.BurstTally;
import io.thalamus.vectors.CacheTally;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.SuiteReport;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The answer of {@code nn:verify}. Immutable but for the tallies, which count no more. */
public record VerifyResult(
    SuiteReport report,
    Optional<CacheTally> tally,
    Optional<BurstTally> bursts,
    Optional<Long> eventSeed,
    Style style)
    implements Result {
  private static final int MOST = 20;

  @Override
  public String text() {
    Lines lines = new Lines();
    List<SuiteReport.Result> failures = report.failures();
    failures.stream().limit(MOST).forEach(result -> lines.add(style.bad(result.text())));
    if (failures.size() > MOST) {
      lines.add("... and " + Units.plural(failures.size() - MOST, "more failure"));
    }
    List<Map.Entry<String, Integer>> reasons =
        report.skipReasons().entrySet().stream()
            .sorted(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder()))
            .toList();
    if (!reasons.isEmpty()) {
      Table table = new Table(style, ">", "");
      reasons.stream()
          .limit(MOST)
          .forEach(entry -> table.row(Units.count(entry.getValue()), entry.getKey()));
      lines.gap().add("skipped").add(table.indent(2).text());
      if (reasons.size() > MOST) {
        lines.add("  ... for " + Units.plural(reasons.size() - MOST, "more reason"));
      }
    }
    lines.gap();
    lines.add(report.target() + ", " + Units.time(report.duration()));
    tally.ifPresent(
        counted ->
            lines.add(
                "%s of %s came from the cache"
                    .formatted(
                        Units.count(counted.restored()), Units.plural(counted.steps(), "step"))));
    eventSeed.ifPresent(
        seed -> lines.add("events completed while executions waited, by the seed " + seed));
    bursts.ifPresent(counted -> lines.add(text(counted)));
    return lines
        .add(report.failed() == 0 ? style.good(report.summary()) : style.bad(report.summary()))
        .toString();
  }

  private static String text(BurstTally bursts) {
    StringBuilder text =
        new StringBuilder(
            ("%s by burst: %s sent, %s read by the servers;"
                    + " %s wrote the same bytes as the synchronous execution")
                .formatted(
                    Units.plural(bursts.executions(), "execution"),
                    Units.plural(bursts.sent(), "request"),
                    Units.count(bursts.received()),
                    Units.count(bursts.same())));
    bursts
        .fallbacks()
        .forEach(
            (reason, count) ->
                text.append(
                    "; %s synchronously: %s".formatted(Units.plural(count, "step"), reason)));
    return text.toString();
  }

  @Override
  public Object data() {
    return Json.object(
        "target", report.target(),
        "passed", report.passed(),
        "failed", report.failed(),
        "skipped", report.skipped(),
        "steps", tally.map(CacheTally::steps),
        "restoredSteps", tally.map(CacheTally::restored),
        "eventSeed", eventSeed,
        "burstExecutions", bursts.map(BurstTally::executions),
        "burstRequestsSent", bursts.map(BurstTally::sent),
        "burstRequestsRead", bursts.map(BurstTally::received),
        "burstSameBytes", bursts.map(BurstTally::same),
        "burstFallbacks", bursts.map(BurstTally::fallbacks),
        "duration", report.duration(),
        "failures", report.failures().stream().map(VerifyResult::failure).toList(),
        "skipReasons", report.skipReasons());
  }

  private static Object failure(SuiteReport.Result result) {
    boolean isFailed = result.outcome() instanceof Outcome.Failed;
    return Json.object(
        "file", result.file(),
        "example", result.example(),
        "reason", isFailed ? ((Outcome.Failed) result.outcome()).reason() : Optional.empty());
  }
}
