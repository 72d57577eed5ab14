// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import io.thalamus.console.Json;
import io.thalamus.shell.trace.Lanes.Lane;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The writer of Chrome's trace event format, in its JSON object form, which Perfetto and
 * chrome://tracing read. Devices are the threads of one process, compilations those of another; a
 * flow leads from each execution through its steps, and a counter of each device tells who runs and
 * who waits. A step that was preempted is as many bars as it had runs. Stateless.
 */
public final class ChromeTrace {
  private static final int DEVICES = 1;
  private static final int COMPILATIONS = 2;
  private static final double NANOS_PER_MICRO = 1e3;
  private static final String FLOW = "steps";

  private ChromeTrace() {}

  private record Timed(long at, Map<String, Object> fields) {}

  /** Returns the trace of some events. */
  public static String of(List<TraceEvent> trace) {
    List<TraceEvent> events = Runs.of(trace);
    Lanes lanes = new Lanes(events);
    Map<Lane, Integer> threads = new IdentityHashMap<>();
    List<Object> all = new ArrayList<>();
    all.add(name("process_name", DEVICES, 0, "devices"));
    all.add(name("process_name", COMPILATIONS, 0, "applications"));
    for (Lane lane : lanes.all()) {
      threads.put(lane, threads.size() + 1);
      all.add(name("thread_name", process(lane), threads.get(lane), lane.label()));
      all.add(
          Json.object(
              "name", "thread_sort_index",
              "ph", "M",
              "pid", process(lane),
              "tid", threads.get(lane),
              "args", Map.of("sort_index", threads.get(lane))));
    }
    List<Timed> timed = new ArrayList<>();
    for (TraceEvent event : events) {
      if (event.is("Load")) {
        if (event.number("compilation") == 0) {
          timed.add(new Timed(event.start(), counter(event)));
        }
        continue;
      }
      Lane lane = event.isSpan() ? lanes.of(event) : lane(lanes, event);
      int process = lane == null ? (event.isOnDevice() ? DEVICES : COMPILATIONS) : process(lane);
      int thread = lane == null ? 0 : threads.get(lane);
      timed.add(new Timed(event.start(), entry(event, process, thread)));
    }
    addFlows(events, lanes, threads, timed);
    timed.stream()
        .sorted(Comparator.comparingLong(Timed::at))
        .forEach(each -> all.add(each.fields()));
    return Json.line(Json.object("traceEvents", all, "displayTimeUnit", "ns"));
  }

  private static int process(Lane lane) {
    return lane.isDevice() ? DEVICES : COMPILATIONS;
  }

  private static Lane lane(Lanes lanes, TraceEvent moment) {
    return lanes.all().stream()
        .filter(lane -> lane.isDevice() == moment.isOnDevice() && lane.name().equals(moment.lane()))
        .findFirst()
        .orElse(null);
  }

  private static Map<String, Object> name(String what, int process, int thread, String name) {
    return Json.object(
        "name", what, "ph", "M", "pid", process, "tid", thread, "args", Map.of("name", name));
  }

  private static Map<String, Object> counter(TraceEvent load) {
    return Json.object(
        "name",
        "executions on " + load.text("device"),
        "cat",
        load.type(),
        "ph",
        "C",
        "ts",
        load.start() / NANOS_PER_MICRO,
        "pid",
        DEVICES,
        "tid",
        0,
        "args",
        Map.of("running", load.number("running"), "waiting", load.number("waiting")));
  }

  private static Map<String, Object> entry(TraceEvent event, int process, int thread) {
    Map<String, Object> entry =
        Json.object(
            "name",
            event.name(),
            "cat",
            event.type(),
            "ph",
            event.isSpan() ? "X" : "i",
            "ts",
            event.start() / NANOS_PER_MICRO,
            "pid",
            process,
            "tid",
            thread);
    if (event.isSpan()) {
      entry.put("dur", event.nanos() / NANOS_PER_MICRO);
    } else {
      entry.put("s", thread == 0 ? "p" : "t");
    }
    if (event.isFailure()) {
      entry.put("cname", "terrible");
    }
    entry.put("args", new TreeMap<>(event.fields()));
    return entry;
  }

  /** Adds the flow of each execution: it starts there, and goes to each of its steps. */
  private static void addFlows(
      List<TraceEvent> events, Lanes lanes, Map<Lane, Integer> threads, List<Timed> timed) {
    Map<Long, List<TraceEvent>> executions = new TreeMap<>();
    for (TraceEvent event : events) {
      if (event.is("Execution") || event.is("Step")) {
        executions.computeIfAbsent(event.number("execution"), id -> new ArrayList<>()).add(event);
      }
    }
    executions.forEach(
        (id, parts) -> {
          parts.sort(
              Comparator.comparingLong(TraceEvent::start)
                  .thenComparing(part -> !part.is("Execution")));
          for (int i = 0; parts.size() > 1 && i < parts.size(); i++) {
            TraceEvent part = parts.get(i);
            String phase = i == 0 ? "s" : i < parts.size() - 1 ? "t" : "f";
            Map<String, Object> entry =
                Json.object(
                    "name", FLOW,
                    "cat", FLOW,
                    "ph", phase,
                    "id", id,
                    "ts", part.start() / NANOS_PER_MICRO,
                    "pid", process(lanes.of(part)),
                    "tid", threads.get(lanes.of(part)));
            if (phase.equals("f")) {
              // To the bar around it, not to the next one.
              entry.put("bp", "e");
            }
            timed.add(new Timed(part.start(), entry));
          }
        });
  }
}
