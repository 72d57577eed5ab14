// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.command;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Finding;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;

/**
 * The answer of {@code nn:certify}. Immutable.
 *
 * @param report what was found
 * @param json whether it is shown as one JSON object on one line
 */
public record CertifyResult(CertificationReport report, boolean json) {
  /** How it is printed. */
  public String show() {
    return json ? line() : report.text();
  }

  private String line() {
    StringWriter text = new StringWriter();
    try (JsonGenerator generator = new JsonFactory().createGenerator(text)) {
      generator.writeStartObject();
      generator.writeStringField("device", report.device());
      write(generator, report.total());
      generator.writeNumberField("millis", report.duration().toMillis());
      generator.writeObjectFieldStart("groups");
      for (Map.Entry<String, CertificationReport.Count> group : report.groups().entrySet()) {
        generator.writeObjectFieldStart(group.getKey());
        write(generator, group.getValue());
        generator.writeEndObject();
      }
      generator.writeEndObject();
      generator.writeArrayFieldStart("failures");
      for (Finding failure : report.failures()) {
        generator.writeString(failure.text());
      }
      generator.writeEndArray();
      generator.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a StringWriter never throws
    }
    return text.toString();
  }

  private static void write(JsonGenerator generator, CertificationReport.Count count)
      throws IOException {
    generator.writeNumberField("passed", count.passed());
    generator.writeNumberField("failed", count.failed());
    generator.writeNumberField("skipped", count.skipped());
  }
}
