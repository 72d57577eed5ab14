// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.CompilationCache.Looks;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import io.thalamus.console.text.Units;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * The answer of {@code nn:cache ls}. Immutable.
 *
 * @param obstacles why compilations cannot be stored
 * @param looks how looks at any directory have ended in this process
 */
public record CacheResult(
    String directory,
    List<CacheEntry> entries,
    List<String> obstacles,
    List<Looks> looks,
    Style style)
    implements Result {
  @Override
  public String text() {
    StringBuilder text = new StringBuilder(list());
    for (String obstacle : obstacles) {
      text.append('\n').append(style.bad("no compilation is added: " + obstacle));
    }
    for (Looks look : looks) {
      text.append("\n%s in this process: %s".formatted(look.device(), counts(look)));
    }
    return text.toString();
  }

  private static String counts(Looks look) {
    List<String> parts = new ArrayList<>();
    parts.add(Units.count(look.hits()) + " restored");
    parts.add(Units.count(look.misses()) + " not stored before");
    if (look.refused() > 0) {
      parts.add(Units.count(look.refused()) + " refused");
    }
    if (look.unavailable() > 0) {
      parts.add(Units.count(look.unavailable()) + " not available");
    }
    return String.join(", ", parts);
  }

  private String list() {
    if (entries.isEmpty()) {
      return "nothing is stored in " + directory;
    }
    Table table = new Table(style, "model", "device", "version", ">size", "last used", "part");
    for (CacheEntry entry : entries) {
      table.row(
          Table.painted(entry.shownModel(), style::bold),
          entry.shownDevice(),
          entry.version(),
          Units.bytes(entry.sizeBytes()),
          age(entry.lastUsed()),
          entry.shownPart());
    }
    long bytes = entries.stream().mapToLong(CacheEntry::sizeBytes).sum();
    return table.text() + "\n" + entries(entries.size(), bytes) + " in " + directory;
  }

  /** Returns {@code 3 entries, 1.2 MiB}. */
  static String entries(int count, long bytes) {
    return (count == 1 ? "1 entry" : Units.count(count) + " entries") + ", " + Units.bytes(bytes);
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
}
