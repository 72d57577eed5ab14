// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.console.Json;
import io.thalamus.console.text.Style;
import io.thalamus.shell.results.QosResult;
import io.thalamus.shell.trace.QosWindow.Row;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the last seconds say of devices and compilations. */
class QosWindowTest {
  private static final long SECOND = 1_000_000_000;
  private static final long MILLI = 1_000_000;

  private final QosWindow window = new QosWindow();

  private void add(
      String type, String device, long compilation, long end, long nanos, String code) {
    Map<String, Object> fields = new HashMap<>();
    fields.put("device", device);
    fields.put("application", "app" + compilation);
    fields.put("model", "m.tflite");
    fields.put("priority", "LOW");
    fields.put("compilation", compilation);
    fields.put("code", code);
    window.add(new TraceEvent(type, end - nanos, nanos, fields));
  }

  @Test
  void percentilesAndRatesAreOfTheLastSeconds() {
    window.begin(0);
    // Over by then: ended before the window of ten seconds.
    add("Step", "simd", 1, SECOND, 500 * MILLI, "NO_ERROR");
    for (int i = 1; i <= 100; i++) {
      add("Step", "simd", 1, 5 * SECOND + i, i * MILLI, "NO_ERROR");
      add("Execution", "", 1, 5 * SECOND + i, 2 * i * MILLI, i == 7 ? "OP_FAILED" : "NO_ERROR");
    }
    QosWindow.Figures figures = window.figures(12 * SECOND);
    assertEquals(10, figures.seconds());
    Row device = figures.devices().getFirst();
    assertEquals(100, device.done());
    assertEquals(10, device.perSecond());
    assertEquals(Duration.ofMillis(50), device.median());
    assertEquals(Duration.ofMillis(99), device.p99());
    assertEquals(0.505, device.busy(), 1e-9);
    Row compilation = figures.compilations().getFirst();
    assertEquals(Duration.ofMillis(100), compilation.median());
    assertEquals(1, compilation.failed());
  }

  @Test
  void eachTroubleIsCountedWhereItBelongs() {
    window.begin(0);
    add("Step", "npu", 1, SECOND, MILLI, "OP_FAILED");
    add("Fallback", "npu", 1, SECOND, 0, "");
    add("Execution", "", 1, SECOND, MILLI, "NO_ERROR");
    add("DeadlineMiss", "", 2, SECOND, 0, "MISSED_DEADLINE_TRANSIENT");
    add("DeadlineMiss", "", 2, SECOND, 0, "MISSED_DEADLINE_TRANSIENT");
    add("Refusal", "", 2, SECOND, 0, "RESOURCE_EXHAUSTED_TRANSIENT");
    QosWindow.Figures figures = window.figures(2 * SECOND);
    assertEquals(2, figures.seconds());
    Row npu = figures.devices().getFirst();
    assertEquals(1, npu.failed());
    assertEquals(1, npu.fallbacks());
    Row first = figures.compilations().getFirst();
    assertEquals(0, first.misses() + first.refusals());
    Row second = figures.compilations().get(1);
    assertEquals("app2", second.application());
    assertEquals(0, second.done());
    assertEquals(2, second.misses());
    assertEquals(1, second.refusals());
    String text = new QosResult(figures, Style.PLAIN).text();
    assertTrue(text.contains("app2"), text);
    String json = Json.line(new QosResult(figures, Style.PLAIN).data());
    assertTrue(json.contains("\"misses\":2,\"refusals\":1"), json);
  }

  @Test
  void whatEndedBeforeItBeganIsNotCounted() {
    add("Step", "cpu", 1, SECOND, MILLI, "NO_ERROR");
    window.begin(2 * SECOND);
    assertEquals(0, window.figures(3 * SECOND).devices().size());
    assertTrue(
        new QosResult(window.figures(3 * SECOND), Style.PLAIN).text().startsWith("nothing ran"));
  }
}
