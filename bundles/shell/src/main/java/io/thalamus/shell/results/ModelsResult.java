// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import io.thalamus.model.Subgraph;
import io.thalamus.shell.model.ResidentModel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The answer of {@code nn:models}, {@code nn:load} and {@code nn:unload}. Immutable. */
public record ModelsResult(List<Entry> models, Style style) implements Result {
  /**
   * A loaded model.
   *
   * @param compilations for each compilation, operations by device
   * @param cache where compilations are stored; empty for nowhere
   */
  public record Entry(
      String name,
      String file,
      String format,
      int operations,
      List<Map<String, Integer>> compilations,
      String cache) {}

  /** Returns the answer for these models. */
  public static ModelsResult of(List<ResidentModel> kept, Style style) {
    List<Entry> entries = new ArrayList<>();
    for (ResidentModel model : kept) {
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
          entry.compilations().isEmpty()
              ? "nothing yet"
              : entry.compilations().stream()
                  .map(ModelsResult::text)
                  .distinct()
                  .collect(Collectors.joining("; ")),
          entry.file());
    }
    String text = table.text();
    for (Entry entry : models) {
      if (!entry.cache().isEmpty()) {
        text += "\n" + entry.name() + ": compilations are stored in " + entry.cache();
      }
    }
    return text;
  }

  static String text(Map<String, Integer> places) {
    return places.entrySet().stream()
        .map(entry -> entry.getKey() + " " + entry.getValue())
        .collect(Collectors.joining(", "));
  }
}
