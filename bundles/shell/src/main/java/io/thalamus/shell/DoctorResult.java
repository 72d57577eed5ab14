// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.shell.Examination.Finding;
import io.thalamus.shell.Examination.Verdict;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/** The answer of {@code nn:doctor}. */
record DoctorResult(List<Finding> findings, Style style) implements Result {
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

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("findings");
    for (Finding finding : findings) {
      json.writeStartObject();
      json.writeStringField("subject", finding.subject());
      json.writeStringField("verdict", finding.verdict().name());
      json.writeStringField("observation", finding.observation());
      json.writeStringField("remedy", finding.remedy());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
