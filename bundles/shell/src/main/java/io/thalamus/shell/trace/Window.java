// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.util.List;

/**
 * The part of a trace that fits into a picture: its last steps, or all of it if it has none.
 *
 * @param start in nanoseconds since the origin of the trace
 * @param end likewise
 * @param events that take time and lie within, cut to none of its ends
 */
public record Window(long start, long end, List<TraceEvent> events) {
  private static final int MOST_STEPS = 120;

  /** Returns the window of a trace, in which steps are the runs that they are made of. */
  public static Window of(List<TraceEvent> trace) {
    List<TraceEvent> bars = Runs.of(trace).stream().filter(TraceEvent::isSpan).toList();
    List<TraceEvent> steps = bars.stream().filter(event -> event.is("Step")).toList();
    long first =
        steps.isEmpty()
            ? bars.stream().mapToLong(TraceEvent::start).min().orElse(0)
            : steps.get(Math.max(0, steps.size() - MOST_STEPS)).start();
    // From the start of the execution of that step, if it lies before.
    long start =
        bars.stream()
            .filter(event -> event.is("Execution") && event.start() <= first && event.end() > first)
            .mapToLong(TraceEvent::start)
            .max()
            .orElse(first);
    List<TraceEvent> inside = bars.stream().filter(event -> event.end() > start).toList();
    long end = inside.stream().mapToLong(TraceEvent::end).max().orElse(start + 1);
    return new Window(start, Math.max(end, start + 1), inside);
  }

  /** Returns how long it is. */
  public long nanos() {
    return end - start;
  }

  /** Returns the place of a time, as a share of the window. */
  public double place(long time) {
    return Math.clamp((double) (time - start) / nanos(), 0.0, 1.0);
  }
}
