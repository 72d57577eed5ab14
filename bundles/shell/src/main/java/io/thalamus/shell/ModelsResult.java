// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.model.Subgraph;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Table;
import io.thalamus.shell.format.Units;
import io.thalamus.shell.model.KeptModel;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The answer of {@code nn:models}, {@code nn:load} and {@code nn:unload}. */
record ModelsResult(List<Entry> models, Style style) implements Result {
  /**
   * A loaded model.
   *
   * @param compiled for each compilation, operations by device
   * @param cache where compilations are kept; empty for nowhere
   */
  record Entry(
      String name,
      String file,
      String format,
      int operations,
      List<Map<String, Integer>> compiled,
      String cache) {}

  static ModelsResult of(List<KeptModel> kept, Style style) {
    List<Entry> entries = new ArrayList<>();
    for (KeptModel model : kept) {
      entries.add(
          new Entry(
              model.name(),
              model.loaded().path().toString(),
              model.loaded().file().format(),
              model
                  .loaded()
                  .model()
                  .subgraphs()
                  .map(Subgraph::operations)
                  .mapToInt(List::size)
                  .sum(),
              model.placements(),
              model.caching().map(caching -> caching.directory().toString()).orElse("")));
    }
    return new ModelsResult(entries, style);
  }

  @Override
  public String text() {
    if (models.isEmpty()) {
      return "no model is loaded; nn:load FILE loads one";
    }
    Table table = new Table(style, "name", "format", ">operations", "compiled for", "file");
    for (Entry entry : models) {
      table.row(
          Table.painted(entry.name(), style::bold),
          entry.format(),
          Units.count(entry.operations()),
          entry.compiled().isEmpty()
              ? "nothing yet"
              : entry.compiled().stream()
                  .map(ModelsResult::text)
                  .distinct()
                  .collect(Collectors.joining("; ")),
          entry.file());
    }
    String text = table.text();
    for (Entry entry : models) {
      if (!entry.cache().isEmpty()) {
        text += "\n" + entry.name() + ": compilations are kept in " + entry.cache();
      }
    }
    return text;
  }

  static String text(Map<String, Integer> places) {
    return places.entrySet().stream()
        .map(entry -> entry.getKey() + " " + entry.getValue())
        .collect(Collectors.joining(", "));
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("models");
    for (Entry entry : models) {
      json.writeStartObject();
      json.writeStringField("name", entry.name());
      json.writeStringField("file", entry.file());
      json.writeStringField("format", entry.format());
      json.writeNumberField("operations", entry.operations());
      json.writeArrayFieldStart("compilations");
      for (Map<String, Integer> places : entry.compiled()) {
        json.writeStartObject();
        for (Map.Entry<String, Integer> place : places.entrySet()) {
          json.writeNumberField(place.getKey(), place.getValue());
        }
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeStringField("cache", entry.cache());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
