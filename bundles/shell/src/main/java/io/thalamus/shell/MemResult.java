// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import java.io.IOException;
import java.util.List;
import java.util.Locale;

/**
 * The answer of {@code nn:mem}.
 *
 * @param memories in the order in which they were made
 */
record MemResult(List<MemoryInfo> memories, Style style) implements Result {
  MemResult {
    memories = List.copyOf(memories);
  }

  @Override
  public String text() {
    if (memories.isEmpty()) {
      return "no application has made a memory";
    }
    Table table = new Table(style, "name", ">bytes", "type", "where", "for", "state", "");
    for (MemoryInfo memory : memories) {
      table.row(
          Table.painted(memory.name(), style::bold),
          memory.bytes() == 0 ? "open" : Units.bytes(memory.bytes()),
          memory.type().text() + (memory.shape().rank() == 0 ? "" : " " + memory.shape()),
          where(memory),
          String.join(", ", memory.roles()),
          Table.painted(
              memory.state().name().toLowerCase(Locale.ROOT),
              memory.state() == State.DEAD ? style::bad : style::good),
          memory.reason());
    }
    return table.text();
  }

  /** Where the contents are; where there are none, where they would be. */
  private static String where(MemoryInfo memory) {
    return memory.places().isEmpty()
        ? "(" + memory.home() + ")"
        : String.join(", ", memory.places());
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("memories");
    for (MemoryInfo memory : memories) {
      json.writeStartObject();
      json.writeStringField("name", memory.name());
      json.writeNumberField("sizeBytes", memory.bytes());
      json.writeStringField("type", memory.type().text());
      json.writeArrayFieldStart("shape");
      for (int dimension : memory.shape().toArray()) {
        json.writeNumber(dimension);
      }
      json.writeEndArray();
      strings(json, "places", memory.places());
      json.writeStringField("home", memory.home());
      strings(json, "roles", memory.roles());
      json.writeStringField("state", memory.state().name());
      json.writeStringField("reason", memory.reason());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void strings(JsonGenerator json, String name, List<String> values)
      throws IOException {
    json.writeArrayFieldStart(name);
    for (String value : values) {
      json.writeString(value);
    }
    json.writeEndArray();
  }
}
