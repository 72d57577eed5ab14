// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.thalamus.console.text.Style;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class JsonTest {
  private enum State {
    GOOD
  }

  private record Part(String name, int[] shape, float scale) {}

  private record Answer(
      String text,
      Optional<String> missing,
      Optional<State> state,
      List<Part> parts,
      Map<String, Integer> counts,
      long sizeBytes,
      boolean isComplete,
      Instant used,
      Path file,
      Duration duration,
      Duration median,
      Style style)
      implements Result {}

  @Test
  void aRecordIsAnObjectOfItsComponents() {
    Map<String, Integer> counts = new LinkedHashMap<>();
    counts.put("simd", 2);
    counts.put("cpu", 1);
    Answer answer =
        new Answer(
            "two\nlines",
            Optional.empty(),
            Optional.of(State.GOOD),
            List.of(new Part("a", new int[] {1, 2}, 0.1f)),
            counts,
            1L << 40,
            true,
            Instant.parse("2026-01-01T12:00:03Z"),
            Path.of("/tmp/x"),
            Duration.ofNanos(1_234_567),
            Duration.ofMillis(12),
            new Style(true, false, 80));
    assertEquals(
        "{\"text\":\"two\\nlines\",\"state\":\"GOOD\","
            + "\"parts\":[{\"name\":\"a\",\"shape\":[1,2],\"scale\":0.1}],"
            + "\"counts\":{\"simd\":2,\"cpu\":1},\"sizeBytes\":1099511627776,\"isComplete\":true,"
            + "\"used\":\"2026-01-01T12:00:03Z\",\"file\":\"/tmp/x\",\"millis\":1.235,"
            + "\"medianMillis\":12}",
        answer.show());
    assertFalse(answer.show().contains("\n"));
  }

  @Test
  void numbersAreAsShortAsTheyCanBe() {
    assertEquals(
        "[3,0.7,0.1,1.0E-7,\"NaN\",\"-Infinity\",1.0E15,-4]",
        Json.line(
            List.of(3.0, 0.7f, 0.1, 1e-7, Double.NaN, Double.NEGATIVE_INFINITY, 1e15, (short) -4)));
  }
}
