// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Units;
import io.thalamus.json.JsonModel;
import io.thalamus.model.Model;
import java.util.Optional;

/**
 * The answer of {@code nn:export}. Immutable.
 *
 * @param model as it was named
 * @param file the text
 * @param constants the file beside it, if there is one
 */
public record ExportResult(
    String model,
    String file,
    Optional<String> constants,
    long constantBytes,
    int operations,
    Style style)
    implements Result {

  /** Returns the answer for a model that was written. */
  public static ExportResult of(String name, Model model, JsonModel.Written written, Style style) {
    return new ExportResult(
        name,
        written.text().toString(),
        written.constants().map(path -> path.getFileName().toString()),
        written.constantBytes(),
        (int) model.subgraphs().mapToLong(graph -> graph.operations().size()).sum(),
        style);
  }

  @Override
  public String text() {
    String beside =
        constants
            .map(name -> ", and beside it %s, %s".formatted(name, Units.bytes(constantBytes)))
            .orElse("");
    return "wrote %s, %s%s"
        .formatted(style.bold(file), Units.plural(operations, "operation"), beside);
  }

  @Override
  public Object data() {
    return Json.object(
        "model", model,
        "file", file,
        "constants", constants,
        "constantBytes", constantBytes,
        "operations", operations);
  }
}
