// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.CompilationCache.Check;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import java.util.List;
import java.util.Locale;

/** The answer of {@code nn:cache verify}: entries with their states. Immutable. */
public record CacheChecksResult(String directory, List<CacheEntry> entries, Style style)
    implements Result {
  @Override
  public String text() {
    Table table = new Table(style, "model", "device", "part", "state", "");
    for (CacheEntry entry : entries) {
      Check.State state = entry.state().orElseThrow();
      table.row(
          entry.shownModel(),
          entry.shownDevice(),
          entry.shownPart(),
          Table.painted(
              state.name().toLowerCase(Locale.ROOT),
              text ->
                  switch (state) {
                    case GOOD -> style.good(text);
                    case STALE -> text;
                    case BAD -> style.bad(text);
                    case UNUSED -> style.dim(text);
                  }),
          entry.reason().orElse(""));
    }
    String counts =
        "%d good, %d stale, %d bad, %d unused"
            .formatted(
                count(Check.State.GOOD),
                count(Check.State.STALE),
                count(Check.State.BAD),
                count(Check.State.UNUSED));
    return entries.isEmpty() ? "nothing is stored in " + directory : table.text() + "\n" + counts;
  }

  private long count(Check.State state) {
    return entries.stream().filter(entry -> entry.state().orElseThrow() == state).count();
  }
}
