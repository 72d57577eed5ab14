// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.shell.doctor.Diagnostics.Finding;
import io.thalamus.shell.doctor.Diagnostics.Verdict;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/** The answer of {@code nn:doctor}. Immutable. */
public record DoctorResult(List<Finding> findings, Style style) implements Result {
  @Override
  public String text() {
    Table table = new Table(style, "", "", "");
    for (Finding finding : findings) {
      UnaryOperator<String> paint = finding.verdict() == Verdict.GOOD ? style::good : style::bad;
      table.row(
          Table.painted(finding.verdict().name().toLowerCase(Locale.ROOT), paint),
          finding.subject(),
          finding.remedy().isEmpty()
              ? finding.observation()
              : finding.observation() + "; " + finding.remedy());
    }
    return table.text();
  }
}
