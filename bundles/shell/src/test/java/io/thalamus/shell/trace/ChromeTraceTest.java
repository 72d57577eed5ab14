// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.console.Json;
import io.thalamus.console.text.Style;
import io.thalamus.shell.picture.GanttPicture;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;

/** Traces of random events against Chrome's trace event format, and pictures of them. */
class ChromeTraceTest {
  private static final List<String> DEVICES = List.of("cpu", "simd", "npu");
  private static final int EXECUTIONS = 60;

  private final List<TraceEvent> events = new ArrayList<>();

  /** The nanoseconds in which each step ran, by execution and name of the step. */
  private final Map<String, Long> ran = new TreeMap<>();

  /** Executions of three compilations that overlap, with one to four steps each, which wait. */
  private void fill(long seed) {
    Random random = new Random(seed);
    for (long id = 1; id <= EXECUTIONS; id++) {
      Map<String, Object> label = label(1 + random.nextInt(3));
      label.put("execution", id);
      long start = random.nextInt(100_000);
      long now = start;
      int steps = 1 + random.nextInt(4);
      for (int i = 0; i < steps; i++) {
        Map<String, Object> step = new LinkedHashMap<>(label);
        step.put("device", DEVICES.get(random.nextInt(3)));
        step.put("step", "ADD <\"&'> " + i);
        step.put("code", random.nextInt(5) == 0 ? "OP_FAILED" : "NO_ERROR");
        long nanos = 12 + random.nextInt(9_000);
        now += random.nextInt(50);
        events.add(new TraceEvent("Step", now, nanos, step));
        ran.put(id + "/" + i, nanos - addWaits(random, now, nanos, step));
        now += nanos;
      }
      label.put("code", "NO_ERROR");
      events.add(new TraceEvent("Execution", start, now - start + random.nextInt(100), label));
    }
    for (long sample = 0; sample < 9; sample++) {
      Map<String, Object> load = label(0);
      load.putAll(Map.of("device", "npu", "sample", sample, "running", 2L, "waiting", sample));
      events.add(new TraceEvent("Load", sample * 10_000, 0, load));
      load.put("compilation", 2L);
      events.add(new TraceEvent("Load", sample * 10_000, 0, load));
    }
    Map<String, Object> miss = label(1);
    miss.put("code", "MISSED_DEADLINE_TRANSIENT");
    events.add(new TraceEvent("DeadlineMiss", 50_000, 0, miss));
    events.add(new TraceEvent("Quarantine", 60_000, 0, Map.of("device", "npu", "reason", "slow")));
  }

  /** Has a step wait at its start, or be preempted twice, or both; returns for how long. */
  private long addWaits(Random random, long start, long nanos, Map<String, Object> step) {
    long part = nanos / 6;
    long all = 0;
    int kind = random.nextInt(4);
    if (kind % 2 == 1) {
      events.add(new TraceEvent("Wait", start, part, step));
      all += part;
    }
    if (kind >= 2) {
      events.add(new TraceEvent("Preempt", start + 2 * part, part, step));
      // To its very end, as when it is cancelled meanwhile.
      events.add(new TraceEvent("Preempt", start + 4 * part, nanos - 4 * part, step));
      all += part + nanos - 4 * part;
    }
    return all;
  }

  private static Map<String, Object> label(long compilation) {
    Map<String, Object> label = new LinkedHashMap<>();
    label.put("application", "some.bundle");
    label.put("model", "m" + compilation + ".tflite");
    label.put("compilation", compilation);
    return label;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void theFormatIsKept(long seed) throws Exception {
    fill(seed);
    List<Map<String, Object>> all = read(ChromeTrace.of(events));
    Set<Object> threads = new TreeSet<>();
    double last = 0;
    Map<Object, List<Map<String, Object>>> bars = new HashMap<>();
    Map<Object, List<Map<String, Object>>> flows = new HashMap<>();
    int counters = 0;
    for (Map<String, Object> entry : all) {
      String phase = (String) entry.get("ph");
      assertTrue(Set.of("M", "X", "i", "C", "s", "t", "f").contains(phase), phase);
      for (String field : List.of("name", "pid", "tid")) {
        assertNotNull(entry.get(field), () -> field + " of " + entry);
      }
      String thread = entry.get("pid") + "/" + entry.get("tid");
      if (phase.equals("M")) {
        threads.add(thread);
        continue;
      }
      if (phase.equals("C")) {
        // A counter belongs to a process, and its series are numbers.
        assertEquals(Map.of("running", 2.0, "waiting", (double) counters++), entry.get("args"));
        continue;
      }
      assertTrue(threads.contains(thread), () -> "a lane without a name: " + entry);
      double at = (double) entry.get("ts");
      assertTrue(at >= last, () -> "out of order: " + entry);
      last = at;
      if (phase.equals("X")) {
        assertTrue((double) entry.get("dur") > 0, entry::toString);
        bars.computeIfAbsent(thread, any -> new ArrayList<>()).add(entry);
      } else if (phase.equals("i")) {
        assertTrue(Set.of("t", "p").contains(entry.get("s")), entry::toString);
      } else {
        flows.computeIfAbsent(entry.get("id"), any -> new ArrayList<>()).add(entry);
      }
    }
    assertEquals(9, counters);
    bars.values().forEach(ChromeTraceTest::checkNesting);
    List<Map<String, Object>> steps =
        bars.values().stream()
            .flatMap(List::stream)
            .filter(bar -> bar.get("cat").equals("Step"))
            .toList();
    checkRuns(steps);
    assertEquals(
        events.stream().filter(event -> event.isSpan() && !event.is("Step")).count(),
        bars.values().stream().mapToInt(List::size).sum() - steps.size());
    assertEquals(EXECUTIONS, flows.size());
    flows.forEach((id, flow) -> checkFlow((double) id, flow, steps, bars));
  }

  /** The bars of a step are as long as it ran, and none lies where it waited. */
  private void checkRuns(List<Map<String, Object>> steps) {
    Map<String, Double> shown = new TreeMap<>();
    for (Map<String, Object> bar : steps) {
      Map<?, ?> args = (Map<?, ?>) bar.get("args");
      String name = (String) bar.get("name");
      String key =
          Math.round((double) args.get("execution")) + "/" + name.substring(name.length() - 1);
      double from = (double) bar.get("ts") * 1e3;
      double to = from + (double) bar.get("dur") * 1e3;
      shown.merge(key, to - from, Double::sum);
      for (TraceEvent wait : events) {
        boolean isOfStep =
            wait.isWait()
                && wait.number("execution") == (double) args.get("execution")
                && wait.text("step").equals(name);
        assertTrue(
            !isOfStep || wait.end() <= from + 1e-3 || wait.start() >= to - 1e-3,
            () -> bar + " runs during " + wait);
      }
    }
    ran.forEach(
        (key, nanos) -> assertEquals(nanos, shown.getOrDefault(key, 0.0), 1e-3, "ran: " + key));
  }

  /** Two bars of a lane are apart, or one lies within the other. */
  private static void checkNesting(List<Map<String, Object>> lane) {
    for (Map<String, Object> a : lane) {
      for (Map<String, Object> b : lane) {
        double from = (double) a.get("ts");
        double to = from + (double) a.get("dur");
        double otherFrom = (double) b.get("ts");
        double otherTo = otherFrom + (double) b.get("dur");
        boolean crosses = from < otherFrom - 1e-6 && otherFrom < to - 1e-6 && to < otherTo - 1e-6;
        assertTrue(!crosses, () -> a + " crosses " + b);
      }
    }
  }

  /** One start, then steps in order, one end; each at a bar of the same execution. */
  private void checkFlow(
      double id,
      List<Map<String, Object>> flow,
      List<Map<String, Object>> steps,
      Map<Object, List<Map<String, Object>>> bars) {
    long runs =
        steps.stream()
            .filter(bar -> ((Map<?, ?>) bar.get("args")).get("execution").equals(id))
            .count();
    assertEquals(runs + 1, flow.size());
    for (int i = 0; i < flow.size(); i++) {
      Map<String, Object> point = flow.get(i);
      assertEquals(i == 0 ? "s" : i < flow.size() - 1 ? "t" : "f", point.get("ph"));
      assertEquals(flow.getFirst().get("cat"), point.get("cat"));
      assertEquals(flow.getFirst().get("name"), point.get("name"));
      double at = (double) point.get("ts");
      assertTrue(
          bars.get(point.get("pid") + "/" + point.get("tid")).stream()
              .anyMatch(
                  bar ->
                      ((Map<?, ?>) bar.get("args")).get("execution").equals(id)
                          && (double) bar.get("ts") <= at
                          && at <= (double) bar.get("ts") + (double) bar.get("dur")),
          () -> "a flow that binds to no bar of its execution: " + point);
    }
  }

  @Test
  void picturesShowTheLastSteps() throws Exception {
    fill(4);
    String svg = GanttPicture.of(events, "a <title>");
    Document document =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
    assertEquals("svg", document.getDocumentElement().getTagName());
    int bars = document.getElementsByTagName("g").getLength();
    assertEquals(Window.of(events).events().size(), bars);
    assertTrue(bars >= 120, "bars: " + bars);
    String text = GanttText.of(events, Style.PLAIN);
    for (String device : DEVICES) {
      assertTrue(text.lines().anyMatch(line -> line.strip().startsWith(device + " ")), text);
    }
    assertTrue(text.lines().allMatch(line -> line.length() <= Style.PLAIN.width()), text);
  }

  @Test
  void aLaneTellsItsBusyShare() {
    Map<String, Object> step = label(1);
    step.put("device", "simd");
    events.add(new TraceEvent("Step", 0, 250, step));
    events.add(new TraceEvent("Step", 750, 250, step));
    assertTrue(GanttText.of(events, Style.PLAIN).lines().findFirst().get().endsWith(" 50 %"));
  }

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> read(String json) throws IOException {
    try (JsonParser parser = Json.factory().createParser(json)) {
      parser.nextToken();
      Map<String, Object> whole = (Map<String, Object>) value(parser);
      return (List<Map<String, Object>>) whole.get("traceEvents");
    }
  }

  private static Object value(JsonParser parser) throws IOException {
    return switch (parser.currentToken()) {
      case START_OBJECT -> {
        Map<String, Object> fields = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
          String name = parser.currentName();
          parser.nextToken();
          fields.put(name, value(parser));
        }
        yield fields;
      }
      case START_ARRAY -> {
        List<Object> items = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          items.add(value(parser));
        }
        yield items;
      }
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
      case VALUE_TRUE, VALUE_FALSE -> parser.getBooleanValue();
      default -> parser.getText();
    };
  }
}
