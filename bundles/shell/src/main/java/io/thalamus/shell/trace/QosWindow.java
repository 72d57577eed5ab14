// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The events of the last seconds, and what they say of devices, applications and models.
 * Thread-safe; holds so many events at most, the latest.
 */
public final class QosWindow {
  /** The time over which it looks back. */
  public static final Duration LENGTH = Duration.ofSeconds(10);

  private static final int MOST = 200_000;

  /** Of what is prepared and planned, the figures say nothing. */
  private static final Set<String> COUNTED =
      Set.of("Step", "Execution", "Fallback", "Preempt", "DeadlineMiss", "Refusal", "Load");

  private final Deque<TraceEvent> events = new ArrayDeque<>();
  private long since = Long.MAX_VALUE;

  /**
   * The work of one device, of an application, or of a model of one.
   *
   * @param name of the device, or of the model; empty for a whole application
   * @param application symbolic name of its bundle; empty for a device
   * @param client of the application, as it names it; empty for itself
   * @param priority of the model; else empty
   * @param running executions that hold a permit of a device now
   * @param waiting executions that wait for one now, or stand back
   * @param done steps of a device, else executions
   * @param perSecond likewise, in a second
   * @param busy the time that steps ran, over the time that passed: above 1 if several ran at once
   * @param share of the time that devices ran for anybody; 1 for a device that ran
   * @param median time of one: without waits for a device, with them for all else
   * @param p99 likewise
   * @param failed those that did not succeed
   * @param fallbacks steps that were repeated elsewhere
   * @param misses deadlines that were missed
   * @param refusals executions that were not begun
   * @param preemptions how often one stood back for another
   */
  public record Row(
      String name,
      String application,
      String client,
      String priority,
      long running,
      long waiting,
      long done,
      double perSecond,
      double busy,
      double share,
      Duration median,
      Duration p99,
      long failed,
      long fallbacks,
      long misses,
      long refusals,
      long preemptions) {}

  /**
   * The work of the last seconds, and the calls that run and wait now. Applications that did
   * nothing in them, and have nothing that runs or waits, are not there.
   *
   * @param seconds how many
   * @param applications each client of an application by itself
   */
  public record Figures(
      double seconds, List<Row> devices, List<Row> applications, List<Row> models) {}

  /** The party that a row is about; what it leaves open is empty. Ordered as it is shown. */
  private record Key(
      String application, String client, String model, String priority, String device)
      implements Comparable<Key> {
    private static final Comparator<Key> ORDER =
        Comparator.comparing(Key::application)
            .thenComparing(Key::client)
            .thenComparing(Key::model)
            .thenComparing(Key::priority)
            .thenComparing(Key::device);

    static Key ofDevice(TraceEvent event) {
      return new Key("", "", "", "", event.text("device"));
    }

    static Key ofApplication(TraceEvent event) {
      return new Key(event.text("application"), event.text("client"), "", "", "");
    }

    static Key ofModel(TraceEvent event) {
      return new Key(
          event.text("application"),
          event.text("client"),
          event.text("model"),
          event.text("priority"),
          "");
    }

    @Override
    public int compareTo(Key other) {
      return ORDER.compare(this, other);
    }
  }

  /** Counts while a row is made. */
  private static final class Count {
    private long[] times = new long[16];
    private int done;
    private long ran;
    private long running;
    private long waiting;
    private long failed;
    private long fallbacks;
    private long misses;
    private long refusals;
    private long preemptions;

    private void time(TraceEvent event, long nanos) {
      times = done == times.length ? Arrays.copyOf(times, 2 * done) : times;
      times[done++] = nanos;
      failed += event.isFailure() ? 1 : 0;
    }

    private Row row(Key key, double seconds, long allRan) {
      long[] sorted = Arrays.copyOf(times, done);
      Arrays.sort(sorted);
      boolean isDevice = !key.device().isEmpty();
      return new Row(
          isDevice ? key.device() : key.model(),
          key.application(),
          key.client(),
          key.priority(),
          running,
          waiting,
          done,
          done / seconds,
          ran / (seconds * 1e9),
          ran == 0 ? 0 : (double) ran / (isDevice ? ran : allRan),
          percentile(sorted, 50),
          percentile(sorted, 99),
          failed,
          fallbacks,
          misses,
          refusals,
          preemptions);
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
    long sample =
        events.stream()
            .filter(event -> event.is("Load"))
            .mapToLong(event -> event.number("sample"))
            .max()
            .orElse(0);
    Map<Key, Count> devices = new TreeMap<>();
    Map<Key, Count> applications = new TreeMap<>();
    Map<Key, Count> models = new TreeMap<>();
    long ran = 0;
    for (TraceEvent event : events) {
      if (!COUNTED.contains(event.type())) {
        continue;
      }
      Count device =
          event.text("device").isEmpty() ? new Count() : count(devices, Key.ofDevice(event));
      // What measures and probes belongs to no application.
      boolean isOurs = event.number("compilation") != 0;
      List<Count> owners =
          isOurs
              ? List.of(
                  count(applications, Key.ofApplication(event)), count(models, Key.ofModel(event)))
              : List.of();
      switch (event.type()) {
        case "Step" -> {
          long nanos = Math.max(0, event.nanos() - event.number("waited"));
          ran += nanos;
          device.time(event, nanos);
          device.ran += nanos;
          owners.forEach(owner -> owner.ran += nanos);
        }
        case "Execution" -> owners.forEach(owner -> owner.time(event, event.nanos()));
        case "Fallback" -> {
          device.fallbacks++;
          owners.forEach(owner -> owner.fallbacks++);
        }
        case "Preempt" -> {
          device.preemptions++;
          owners.forEach(owner -> owner.preemptions++);
        }
        case "DeadlineMiss" -> owners.forEach(owner -> owner.misses++);
        case "Refusal" -> owners.forEach(owner -> owner.refusals++);
        case "Load" -> {
          if (event.number("sample") == sample) {
            for (Count count : isOurs ? owners : List.of(device)) {
              count.running += event.number("running");
              count.waiting += event.number("waiting");
            }
          }
        }
        default -> throw new IllegalStateException(event.type());
      }
    }
    return new Figures(
        seconds,
        rows(devices, seconds, ran),
        rows(applications, seconds, ran),
        rows(models, seconds, ran));
  }

  private static Count count(Map<Key, Count> counts, Key key) {
    return counts.computeIfAbsent(key, any -> new Count());
  }

  private static List<Row> rows(Map<Key, Count> counts, double seconds, long ran) {
    return counts.entrySet().stream()
        .map(entry -> entry.getValue().row(entry.getKey(), seconds, ran))
        .toList();
  }
}
