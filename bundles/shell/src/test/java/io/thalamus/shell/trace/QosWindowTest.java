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

/** The figures of the last seconds for devices, applications and models. */
class QosWindowTest {
  private static final long SECOND = 1_000_000_000;
  private static final long MILLI = 1_000_000;

  private final QosWindow window = new QosWindow();

  private void add(
      String type, String device, long compilation, long end, long nanos, String code) {
    Map<String, Object> fields = new HashMap<>();
    fields.put("device", device);
    fields.put("application", "app" + compilation);
    fields.put("client", "client" + compilation);
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
    Row compilation = figures.models().getFirst();
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
    Row first = figures.models().getFirst();
    assertEquals(0, first.misses() + first.refusals());
    Row second = figures.models().get(1);
    assertEquals("app2", second.application());
    assertEquals(0, second.done());
    assertEquals(2, second.misses());
    assertEquals(1, second.refusals());
    String text = new QosResult(figures, Style.PLAIN).text();
    assertTrue(text.contains("app2"), text);
    String json = Json.line(new QosResult(figures, Style.PLAIN).data());
    assertTrue(json.contains("\"misses\":2,\"refusals\":1"), json);
  }

  private void load(long sample, String device, long compilation, long running, long waiting) {
    Map<String, Object> fields = new HashMap<>();
    fields.put("sample", sample);
    fields.put("device", device);
    fields.put("application", compilation == 0 ? "" : "app" + compilation);
    fields.put("client", "");
    fields.put("model", compilation == 0 ? "" : "m.tflite");
    fields.put("priority", "LOW");
    fields.put("compilation", compilation);
    fields.put("running", running);
    fields.put("waiting", waiting);
    window.add(new TraceEvent("Load", sample * SECOND, 0, fields));
  }

  @Test
  void whatRunsAndWaitsIsOfTheLatestSampleAlone() {
    window.begin(0);
    load(1, "npu", 0, 2, 9);
    load(1, "npu", 1, 2, 9);
    load(2, "npu", 0, 1, 4);
    load(2, "npu", 2, 1, 4);
    load(2, "cpu", 0, 1, 0);
    load(2, "cpu", 2, 1, 0);
    QosWindow.Figures figures = window.figures(3 * SECOND);
    Row npu = figures.devices().get(1);
    assertEquals("npu", npu.name());
    assertEquals(1, npu.running());
    assertEquals(4, npu.waiting());
    // On two devices.
    Row second = figures.applications().get(1);
    assertEquals("app2", second.application());
    assertEquals(2, second.running());
    assertEquals(4, second.waiting());
    Row first = figures.models().getFirst();
    assertEquals(0, first.running() + first.waiting(), "it was there a second ago");
    // Gone for longer than the window is long.
    load(13, "cpu", 0, 0, 0);
    QosWindow.Figures later = window.figures(13 * SECOND);
    assertEquals(1, later.devices().size());
    assertEquals(0, later.applications().size() + later.models().size());
  }

  @Test
  void sharesAreOfTheTimeThatStepsRanWithoutTheirWaits() {
    window.begin(0);
    add("Step", "npu", 1, SECOND, 300 * MILLI, "NO_ERROR");
    Map<String, Object> waited = new HashMap<>(step(2));
    waited.put("waited", 800 * MILLI);
    window.add(new TraceEvent("Step", SECOND, 900 * MILLI, waited));
    window.add(new TraceEvent("Preempt", SECOND, 800 * MILLI, step(2)));
    QosWindow.Figures figures = window.figures(2 * SECOND);
    assertEquals(0.75, figures.applications().getFirst().share(), 1e-9);
    Row second = figures.models().get(1);
    assertEquals(0.25, second.share(), 1e-9);
    assertEquals(1, second.preemptions());
    Row npu = figures.devices().getFirst();
    assertEquals(1, npu.preemptions());
    assertEquals(0.2, npu.busy(), 1e-9);
    assertEquals(Duration.ofMillis(100), npu.median());
  }

  private static Map<String, Object> step(long compilation) {
    return Map.of(
        "device", "npu",
        "application", "app" + compilation,
        "client", "client" + compilation,
        "model", "m.tflite",
        "priority", "LOW",
        "compilation", compilation,
        "code", "NO_ERROR");
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
