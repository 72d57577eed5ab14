// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.console.text.Style;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RunResultTest {
  private static final Style STYLE = new Style(false, false, 80);

  private static String last(int times, int cold) {
    RunResult result =
        new RunResult(
            "m",
            List.of(),
            Optional.empty(),
            Map.of("cpu", 2),
            List.of(),
            List.of(),
            List.of(),
            times,
            cold,
            Duration.ofMillis(2),
            Duration.ofMillis(1),
            STYLE);
    return result.text().lines().toList().getLast();
  }

  @Test
  void aColdTimeSaysSo() {
    assertEquals("2.00 ms, cold: 2 operations on cpu", last(1, 1));
    assertEquals("2.00 ms: 2 operations on cpu", last(1, 0));
    assertEquals("2.00 ms, cold (median of 3, fastest 1.00 ms): 2 operations on cpu", last(3, 3));
    assertEquals("2.00 ms (median of 3, fastest 1.00 ms): 2 operations on cpu", last(3, 0));
    assertEquals(
        "2.00 ms (median of 1,200 after 34 cold, fastest 1.00 ms): 2 operations on cpu",
        last(1234, 34));
  }
}
