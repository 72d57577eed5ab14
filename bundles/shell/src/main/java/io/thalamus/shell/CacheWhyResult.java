// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import java.io.IOException;
import java.util.List;

/** The answer of {@code nn:cache why}. */
record CacheWhyResult(String model, List<Forecast> forecasts, Style style) implements Result {
  @Override
  public String text() {
    Table table = new Table(style, "device", "part", "would be", "because");
    for (Forecast forecast : forecasts) {
      table.row(
          Table.painted(forecast.device(), style::bold),
          forecast.step(),
          forecast.isStored() ? "from the cache" : "compiled",
          String.join("; ", forecast.reasons()));
    }
    return table.text();
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("model", model);
    json.writeArrayFieldStart("steps");
    for (Forecast forecast : forecasts) {
      json.writeStartObject();
      json.writeStringField("device", forecast.device());
      json.writeStringField("part", forecast.step());
      json.writeBooleanField("isStored", forecast.isStored());
      json.writeArrayFieldStart("reasons");
      for (String reason : forecast.reasons()) {
        json.writeString(reason);
      }
      json.writeEndArray();
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
