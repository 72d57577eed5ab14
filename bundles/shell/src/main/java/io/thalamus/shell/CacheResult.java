// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * The answer of {@code nn:cache ls}.
 *
 * @param obstacles what hinders compilations from being kept
 */
record CacheResult(String directory, List<Entry> entries, List<String> obstacles, Style style)
    implements Result {
  @Override
  public String text() {
    StringBuilder text = new StringBuilder(list());
    for (String obstacle : obstacles) {
      text.append('\n').append(style.bad("no compilation is added: " + obstacle));
    }
    return text.toString();
  }

  private String list() {
    if (entries.isEmpty()) {
      return "nothing is kept in " + directory;
    }
    Table table = new Table(style, "model", "device", "version", ">size", "last used", "part");
    for (Entry entry : entries) {
      table.row(
          Table.painted(entry.label().isEmpty() ? "?" : entry.label(), style::bold),
          entry.device().isEmpty() ? "?" : entry.device(),
          entry.version(),
          Units.bytes(entry.bytes()),
          age(entry.lastUsed()),
          part(entry));
    }
    return table.text() + "\n" + entries(entries) + " in " + directory;
  }

  /** {@code 3 entries, 1.2 MiB}. */
  static String entries(List<Entry> entries) {
    return (entries.size() == 1 ? "1 entry" : Units.count(entries.size()) + " entries")
        + ", "
        + Units.bytes(entries.stream().mapToLong(Entry::bytes).sum());
  }

  static String part(Entry entry) {
    return entry.isBeingWritten() ? entry.step() + " (being written)" : entry.step();
  }

  private static String age(Instant used) {
    Duration age = Duration.between(used, Instant.now());
    if (age.toMinutes() < 1) {
      return "now";
    }
    if (age.toHours() < 1) {
      return age.toMinutes() + " min ago";
    }
    return age.toDays() < 1 ? age.toHours() + " h ago" : age.toDays() + " d ago";
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("directory", directory);
    json.writeArrayFieldStart("entries");
    for (Entry entry : entries) {
      json.writeStartObject();
      fields(json, entry);
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("obstacles");
    for (String obstacle : obstacles) {
      json.writeString(obstacle);
    }
    json.writeEndArray();
  }

  static void fields(JsonGenerator json, Entry entry) throws IOException {
    json.writeStringField("name", entry.name());
    json.writeStringField("model", entry.label());
    json.writeStringField("part", entry.step());
    json.writeStringField("device", entry.device());
    json.writeStringField("version", entry.version());
    json.writeNumberField("files", entry.files());
    json.writeNumberField("sizeBytes", entry.bytes());
    json.writeStringField("lastUsed", entry.lastUsed().toString());
    json.writeBooleanField("isBeingWritten", entry.isBeingWritten());
  }
}
