// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The events of the last seconds, and what they say of devices and of compilations. Thread-safe;
 * holds so many events at most, the latest.
 */
public final class QosWindow {
  /** How far back it looks. */
  public static final Duration LENGTH = Duration.ofSeconds(10);

  private static final int MOST = 200_000;

  private final Deque<TraceEvent> events = new ArrayDeque<>();
  private long since = Long.MAX_VALUE;

  /**
   * What one device or one compilation did.
   *
   * @param name of the device, or of the model
   * @param application symbolic name of its bundle; empty for a device
   * @param priority of the compilation; empty for a device
   * @param done steps of a device, executions of a compilation
   * @param perSecond likewise, in a second
   * @param busy the time spent, over the time that passed: above 1 if several ran at once
   * @param median time of one
   * @param p99 time of one
   * @param failed those that did not succeed
   * @param fallbacks steps that were repeated elsewhere
   * @param misses deadlines that were missed
   * @param refusals executions that were not begun
   */
  public record Row(
      String name,
      String application,
      String priority,
      long done,
      double perSecond,
      double busy,
      Duration median,
      Duration p99,
      long failed,
      long fallbacks,
      long misses,
      long refusals) {}

  /**
   * What happened in the last seconds.
   *
   * @param seconds how many
   */
  public record Figures(double seconds, List<Row> devices, List<Row> compilations) {}

  /** Counts while a row is made. */
  private static final class Count {
    private TraceEvent any;
    private long[] times = new long[16];
    private int done;
    private long failed;
    private long fallbacks;
    private long misses;
    private long refusals;

    private void time(TraceEvent event) {
      times = done == times.length ? Arrays.copyOf(times, 2 * done) : times;
      times[done++] = event.nanos();
      failed += event.isFailure() ? 1 : 0;
    }

    private Row row(boolean isDevice, double seconds) {
      long[] sorted = Arrays.copyOf(times, done);
      Arrays.sort(sorted);
      return new Row(
          isDevice ? any.text("device") : any.text("model"),
          isDevice ? "" : any.text("application"),
          isDevice ? "" : any.text("priority"),
          done,
          done / seconds,
          Arrays.stream(sorted).sum() / (seconds * 1e9),
          percentile(sorted, 50),
          percentile(sorted, 99),
          failed,
          fallbacks,
          misses,
          refusals);
    }

    /** Returns the least time that so many of a hundred do not exceed. */
    private static Duration percentile(long[] sorted, int percent) {
      int index = Math.ceilDiv(sorted.length * percent, 100) - 1;
      return sorted.length == 0 ? Duration.ZERO : Duration.ofNanos(sorted[Math.max(0, index)]);
    }
  }

  /** Adds an event, whose times count from an origin that all share. */
  public synchronized void add(TraceEvent event) {
    events.add(event);
    if (events.size() > MOST) {
      since = Math.max(since, events.remove().end());
    }
  }

  /** Begins to count time: what ended before is not counted. */
  public synchronized void begin(long now) {
    since = now;
  }

  /** Returns what happened in the last seconds until now. */
  public synchronized Figures figures(long now) {
    long from = Math.max(since, now - LENGTH.toNanos());
    events.removeIf(event -> event.end() < from);
    double seconds = Math.max(1, now - from) / 1e9;
    Map<String, Count> devices = new TreeMap<>();
    Map<String, Count> compilations = new TreeMap<>();
    for (TraceEvent event : events) {
      switch (event.type()) {
        case "Step" -> count(devices, event.text("device"), event, count -> count.time(event));
        case "Execution" ->
            count(compilations, event.compilation(), event, count -> count.time(event));
        case "Fallback" -> {
          if (!event.text("device").isEmpty()) {
            count(devices, event.text("device"), event, count -> count.fallbacks++);
          }
          count(compilations, event.compilation(), event, count -> count.fallbacks++);
        }
        case "DeadlineMiss" ->
            count(compilations, event.compilation(), event, count -> count.misses++);
        case "Refusal" ->
            count(compilations, event.compilation(), event, count -> count.refusals++);
        default -> {
          // Of what is prepared and planned, the figures say nothing.
        }
      }
    }
    return new Figures(seconds, rows(devices, true, seconds), rows(compilations, false, seconds));
  }

  private static void count(
      Map<String, Count> counts, String name, TraceEvent event, Consumer<Count> counting) {
    Count count = counts.computeIfAbsent(name, any -> new Count());
    count.any = event;
    counting.accept(count);
  }

  private static List<Row> rows(Map<String, Count> counts, boolean isDevice, double seconds) {
    return counts.values().stream().map(count -> count.row(isDevice, seconds)).toList();
  }
}
