// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.settings.Setting;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import java.util.List;
import java.util.Optional;

/**
 * The answer of {@code nn:config}. Immutable.
 *
 * @param rows in the order in which they are shown
 * @param isBrief whether people are not to be informed what each of them means
 */
public record ConfigResult(List<Row> rows, boolean isBrief, Style style) implements Result {
  private static final String HINT = "nn:config NAME says what it means: nn:config simd";
  private static final String HIDDEN = "(hidden)";

  public ConfigResult {
    rows = List.copyOf(rows);
  }

  /**
   * A setting.
   *
   * @param set the values that it was given; empty if nobody set it
   */
  public record Row(Setting setting, Optional<List<String>> set) {
    private String value() {
      return set.map(this::shown).orElse(setting.usual());
    }

    private String shown(List<String> values) {
      return setting.isSecret() ? HIDDEN : String.join(", ", values);
    }
  }

  @Override
  public String text() {
    Table table = new Table(style, "setting", "value", "default", "");
    for (Row row : rows) {
      table.row(
          Table.painted(row.setting().name(), style::bold),
          row.set().isPresent() ? Table.painted(row.value(), style::good) : row.value(),
          row.set().isPresent() ? row.setting().usual() : "",
          isBrief ? "" : row.setting().meaning());
    }
    return isBrief ? table.text() + "\n\n" + HINT : table.text();
  }

  @Override
  public Object data() {
    return Json.object("settings", rows.stream().map(ConfigResult::fields).toList());
  }

  private static Object fields(Row row) {
    return Json.object(
        "name", row.setting().name(),
        "type", row.setting().type(),
        "value", row.value(),
        "default", row.setting().usual(),
        "isSet", row.set().isPresent(),
        "meaning", row.setting().meaning());
  }
}
