// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import io.thalamus.vectors.CacheTally;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.SuiteReport;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The answer of {@code nn:verify}. */
record VerifyResult(SuiteReport report, Optional<CacheTally> tally, Style style) implements Result {
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
    return lines
        .add(report.failed() == 0 ? style.good(report.summary()) : style.bad(report.summary()))
        .toString();
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("target", report.target());
    json.writeNumberField("passed", report.passed());
    json.writeNumberField("failed", report.failed());
    json.writeNumberField("skipped", report.skipped());
    if (tally.isPresent()) {
      json.writeNumberField("steps", tally.get().steps());
      json.writeNumberField("restoredSteps", tally.get().restored());
    }
    Json.millis(json, "millis", report.duration().toNanos());
    json.writeArrayFieldStart("failures");
    for (SuiteReport.Result result : report.failures()) {
      json.writeStartObject();
      json.writeStringField("file", result.file());
      json.writeStringField("example", result.example());
      if (result.outcome() instanceof Outcome.Failed failed) {
        json.writeStringField("reason", failed.reason());
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeObjectFieldStart("skipReasons");
    for (Map.Entry<String, Integer> entry : report.skipReasons().entrySet()) {
      json.writeNumberField(entry.getKey(), entry.getValue());
    }
    json.writeEndObject();
  }
}
