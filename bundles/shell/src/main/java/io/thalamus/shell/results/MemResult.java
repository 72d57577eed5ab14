// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.MemoryInfo;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import java.util.List;
import java.util.Locale;

/**
 * The answer of {@code nn:mem}. Immutable.
 *
 * @param memories in the order in which they were made
 */
public record MemResult(List<MemoryInfo> memories, Style style) implements Result {
  public MemResult {
    memories = List.copyOf(memories);
  }

  @Override
  public String text() {
    if (memories.isEmpty()) {
      return "no application has made a memory";
    }
    Table table =
        new Table(style, "name", "owner", ">bytes", "type", "where", "for", ">age", "state", "");
    for (MemoryInfo memory : memories) {
      table.row(
          Table.painted(memory.name(), style::bold),
          memory.owner(),
          memory.bytes() == 0 ? "open" : Units.bytes(memory.bytes()),
          memory.type().text() + (memory.shape().rank() == 0 ? "" : " " + memory.shape()),
          where(memory),
          String.join(", ", memory.roles()),
          Units.time(memory.age()),
          Table.painted(
              memory.state().name().toLowerCase(Locale.ROOT),
              memory.state() == State.DEAD ? style::bad : style::good),
          memory.reason());
    }
    return table.text();
  }

  /** Returns where the contents are; where there are none, where they would be. */
  private static String where(MemoryInfo memory) {
    return memory.places().isEmpty()
        ? "(" + memory.home() + ")"
        : String.join(", ", memory.places());
  }

  @Override
  public Object data() {
    return Json.object("memories", memories.stream().map(MemResult::fields).toList());
  }

  private static Object fields(MemoryInfo memory) {
    return Json.object(
        "name", memory.name(),
        "sizeBytes", memory.bytes(),
        "type", memory.type().text(),
        "shape", memory.shape().toArray(),
        "places", memory.places(),
        "home", memory.home(),
        "roles", memory.roles(),
        "state", memory.state(),
        "reason", memory.reason(),
        "owner", memory.owner(),
        "ageMillis", memory.age().toMillis(),
        "shadowed", memory.shadowed());
  }
}
