// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Units;
import io.thalamus.shell.trace.GanttText;
import io.thalamus.shell.trace.TraceEvent;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The answer of {@code nn:trace}: a chart of the last steps, and what was recorded. Immutable. */
public record TraceResult(Path file, List<TraceEvent> trace, Style style) implements Result {
  @Override
  public String text() {
    Lines lines = new Lines();
    if (trace.stream().anyMatch(TraceEvent::isSpan)) {
      lines.add(GanttText.of(trace, style)).add("");
    }
    String counted =
        counts().entrySet().stream()
            .map(entry -> Units.count(entry.getValue()) + " " + entry.getKey())
            .collect(Collectors.joining(", "));
    return lines
        .add(counted.isEmpty() ? "nothing happened" : counted)
        .add("written to " + file)
        .toString();
  }

  private Map<String, Long> counts() {
    return trace.stream()
        .filter(event -> !event.is("Load"))
        .collect(Collectors.groupingBy(TraceEvent::type, TreeMap::new, Collectors.counting()));
  }

  @Override
  public Object data() {
    return Json.object("file", file, "events", counts());
  }
}
