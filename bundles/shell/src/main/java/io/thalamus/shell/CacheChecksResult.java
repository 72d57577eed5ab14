// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.CompilationCache.Check;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import java.io.IOException;
import java.util.List;
import java.util.Locale;

/** The answer of {@code nn:cache verify}. */
record CacheChecksResult(String directory, List<Check> checks, Style style) implements Result {
  @Override
  public String text() {
    Table table = new Table(style, "model", "device", "part", "state", "");
    for (Check check : checks) {
      table.row(
          check.entry().label().isEmpty() ? "?" : check.entry().label(),
          check.entry().device().isEmpty() ? "?" : check.entry().device(),
          CacheResult.part(check.entry()),
          Table.painted(
              check.state().name().toLowerCase(Locale.ROOT),
              text ->
                  switch (check.state()) {
                    case GOOD -> style.good(text);
                    case BAD -> style.bad(text);
                    case UNUSED -> style.dim(text);
                  }),
          check.reason());
    }
    String counts =
        "%d good, %d bad, %d unused"
            .formatted(count(Check.State.GOOD), count(Check.State.BAD), count(Check.State.UNUSED));
    return checks.isEmpty() ? "nothing is kept in " + directory : table.text() + "\n" + counts;
  }

  private long count(Check.State state) {
    return checks.stream().filter(check -> check.state() == state).count();
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("directory", directory);
    json.writeArrayFieldStart("entries");
    for (Check check : checks) {
      json.writeStartObject();
      CacheResult.fields(json, check.entry());
      json.writeStringField("state", check.state().name());
      json.writeStringField("reason", check.reason());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
