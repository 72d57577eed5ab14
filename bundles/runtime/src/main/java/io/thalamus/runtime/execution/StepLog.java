// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ExecutionReport.Durations;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Timing;
import io.thalamus.runtime.events.ExecutionEvent;
import io.thalamus.runtime.events.StepEvent;
import io.thalamus.runtime.plan.PlanNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The log of what ran where in one execution. A step that a loop repeats is one entry, which grows.
 * Used by the one thread that executes.
 */
final class StepLog {
  private final List<Entry> entries = new ArrayList<>();
  private final CopyCount copies;
  private final ExecutionEvent event;
  private Timing timing = Timing.NONE;
  private boolean isTimingPartial;

  /**
   * A log of nothing yet, beside a count that goes on.
   *
   * @param event of the execution; null while nobody records
   */
  StepLog(CopyCount copies, ExecutionEvent event) {
    this.copies = copies;
    this.event = event;
  }

  /** Starts the event of a step; null while nobody records. */
  StepEvent startEvent() {
    return event == null ? null : StepEvent.start(event);
  }

  /** Returns the count of copied bytes. */
  CopyCount copies() {
    return copies;
  }

  private static final class Entry {
    private final PlanNode node;
    private final String device;
    private final ResultCode code;
    private final Way way;
    private int operations;
    private long nanos;

    /** Null before the first ones. */
    private Durations durations;

    Entry(PlanNode node, String device, ResultCode code, Way way) {
      this.node = node;
      this.device = device;
      this.code = code;
      this.way = way;
    }

    StepReport report() {
      return new StepReport(
          device,
          operations,
          Duration.ofNanos(nanos),
          code,
          way == Way.BY_BURST,
          way == Way.FENCED,
          durations != null && isAnyKnown(durations) ? Optional.of(durations) : Optional.empty());
    }
  }

  void add(PlanNode node, String device, int operations, long nanos, ResultCode code, Way way) {
    Entry entry = find(node, device, code, way);
    entry.operations += operations;
    entry.nanos += nanos;
  }

  /**
   * Adds what a device measured of a step that is done, and was added.
   *
   * @param fenced without a fence, nothing
   */
  void addMeasured(PlanNode node, String device, Way way, Timing launched, Timing fenced) {
    Entry entry = find(node, device, ResultCode.NO_ERROR, way);
    Durations before = entry.durations;
    entry.durations =
        before == null
            ? new Durations(
                launched.onDevice(), launched.inDriver(), fenced.onDevice(), fenced.inDriver())
            : new Durations(
                whole(before.onHardware(), launched.onDevice()),
                whole(before.inDriver(), launched.inDriver()),
                whole(before.fencedOnHardware(), fenced.onDevice()),
                whole(before.fencedInDriver(), fenced.inDriver()));
  }

  /** Returns the sum of two times, which is known where both are. */
  private static Optional<Duration> whole(Optional<Duration> a, Optional<Duration> b) {
    return a.flatMap(time -> b.map(time::plus));
  }

  private static boolean isAnyKnown(Durations all) {
    return all.onHardware().isPresent()
        || all.inDriver().isPresent()
        || all.fencedOnHardware().isPresent()
        || all.fencedInDriver().isPresent();
  }

  private Entry find(PlanNode node, String device, ResultCode code, Way way) {
    // From the end: what a loop repeats was added lately.
    for (int i = entries.size() - 1; i >= 0; i--) {
      Entry entry = entries.get(i);
      if (entry.node == node
          && entry.code == code
          && entry.way == way
          && entry.device.equals(device)) {
        return entry;
      }
    }
    Entry added = new Entry(node, device, code, way);
    entries.add(added);
    return added;
  }

  /** Adds what a device measured; once one did not measure, nothing is known of the whole. */
  void add(Timing measured) {
    if (isTimingPartial || measured.inDriver().isEmpty()) {
      isTimingPartial = true;
      timing = Timing.NONE;
      return;
    }
    timing =
        new Timing(
            sum(timing.onDevice(), measured.onDevice()),
            sum(timing.inDriver(), measured.inDriver()));
  }

  private static Optional<Duration> sum(Optional<Duration> a, Optional<Duration> b) {
    return a.isEmpty() ? b : b.isEmpty() ? a : Optional.of(a.get().plus(b.get()));
  }

  Timing timing() {
    return timing;
  }

  List<StepReport> steps() {
    // Without a stream, which costs as much as the rest of a report.
    StepReport[] steps = new StepReport[entries.size()];
    for (int i = 0; i < steps.length; i++) {
      steps[i] = entries.get(i).report();
    }
    return List.of(steps);
  }
}
