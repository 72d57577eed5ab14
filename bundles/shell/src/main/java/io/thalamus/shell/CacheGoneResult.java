// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import java.io.IOException;
import java.util.List;

/** The answer of {@code nn:cache gc}: what went, and what stayed. */
record CacheGoneResult(String directory, List<Entry> gone, List<Entry> left, Style style)
    implements Result {
  @Override
  public String text() {
    return "removed %s; %s stay in %s"
        .formatted(
            gone.isEmpty() ? "nothing" : CacheResult.entries(gone),
            CacheResult.entries(left),
            directory);
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("directory", directory);
    json.writeNumberField("removed", gone.size());
    json.writeNumberField("removedBytes", gone.stream().mapToLong(Entry::bytes).sum());
    json.writeNumberField("left", left.size());
    json.writeNumberField("leftBytes", left.stream().mapToLong(Entry::bytes).sum());
  }
}
