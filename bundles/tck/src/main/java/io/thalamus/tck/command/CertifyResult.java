// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.command;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Finding;
import java.time.Duration;

/** The answer of {@code nn:certify}. Immutable. */
public record CertifyResult(CertificationReport report, Style style) implements Result {
  @Override
  public String text() {
    return report.text();
  }

  @Override
  public Object data() {
    CertificationReport.Count total = report.total();
    return Json.object(
        "device", report.device(),
        "passed", total.passed(),
        "failed", total.failed(),
        "skipped", total.skipped(),
        "badPackets", report.badPackets(),
        "onDeadlines", report.onDeadlines(),
        "duration", Duration.ofMillis(report.duration().toMillis()),
        "groups", report.groups(),
        "failures", report.failures().stream().map(Finding::text).toList());
  }
}
