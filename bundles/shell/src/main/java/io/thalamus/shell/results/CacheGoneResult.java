// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import java.util.List;

/**
 * The answer of {@code nn:cache gc}. Immutable.
 *
 * @param removed entries
 * @param removedBytes of them
 * @param left entries that stay
 * @param leftBytes of them
 */
public record CacheGoneResult(
    String directory, int removed, long removedBytes, int left, long leftBytes, Style style)
    implements Result {
  /** Returns the answer for the entries that went and those that stay. */
  public static CacheGoneResult of(
      String directory, List<Entry> gone, List<Entry> left, Style style) {
    return new CacheGoneResult(
        directory, gone.size(), bytes(gone), left.size(), bytes(left), style);
  }

  private static long bytes(List<Entry> entries) {
    return entries.stream().mapToLong(Entry::bytes).sum();
  }

  @Override
  public String text() {
    return "removed %s; %s stay in %s"
        .formatted(
            removed == 0 ? "nothing" : CacheResult.entries(removed, removedBytes),
            CacheResult.entries(left, leftBytes),
            directory);
  }
}
