// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The runs of steps: what is left of them without the times in which they waited for a device or
 * stood back for others. Stateless.
 */
public final class Runs {
  private Runs() {}

  private record Key(long execution, String device) {}

  /**
   * Returns the events with each step that waited in its place as the runs that it is made of. The
   * waits stay as they are.
   */
  public static List<TraceEvent> of(List<TraceEvent> events) {
    Map<Key, List<TraceEvent>> waits = new HashMap<>();
    events.stream()
        .filter(TraceEvent::isWait)
        .sorted(Comparator.comparingLong(TraceEvent::start))
        .forEach(wait -> waits.computeIfAbsent(key(wait), key -> new ArrayList<>()).add(wait));
    List<TraceEvent> runs = new ArrayList<>();
    for (TraceEvent event : events) {
      if (event.is("Step")) {
        split(event, waits.getOrDefault(key(event), List.of()), runs);
      } else {
        runs.add(event);
      }
    }
    return runs;
  }

  private static Key key(TraceEvent event) {
    return new Key(event.number("execution"), event.text("device"));
  }

  private static void split(TraceEvent step, List<TraceEvent> waits, List<TraceEvent> runs) {
    List<long[]> parts = new ArrayList<>();
    long from = step.start();
    for (TraceEvent wait : waits) {
      if (wait.end() > from && wait.start() < step.end()) {
        if (wait.start() > from) {
          parts.add(new long[] {from, wait.start()});
        }
        from = wait.end();
      }
    }
    if (parts.isEmpty() && from == step.start()) {
      runs.add(step);
      return;
    }
    if (from < step.end()) {
      parts.add(new long[] {from, step.end()});
    }
    for (int i = 0; i < parts.size(); i++) {
      Map<String, Object> fields = new LinkedHashMap<>(step.fields());
      fields.put("run", i + 1);
      fields.put("runs", parts.size());
      long[] part = parts.get(i);
      runs.add(new TraceEvent("Step", part[0], part[1] - part[0], fields));
    }
  }
}
