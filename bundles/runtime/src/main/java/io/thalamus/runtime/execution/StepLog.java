// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

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
    return StepEvent.start(event);
  }

  /** Returns the count of copied bytes. */
  CopyCount copies() {
    return copies;
  }

  private static final class Entry {
    private final PlanNode node;
    private final String device;
    private final ResultCode code;
    private final boolean byBurst;
    private int operations;
    private long nanos;

    Entry(PlanNode node, String device, ResultCode code, boolean byBurst) {
      this.node = node;
      this.device = device;
      this.code = code;
      this.byBurst = byBurst;
    }

    StepReport report() {
      return new StepReport(device, operations, Duration.ofNanos(nanos), code, byBurst);
    }
  }

  void add(
      PlanNode node, String device, int operations, long nanos, ResultCode code, boolean byBurst) {
    Entry entry = find(node, device, code, byBurst);
    entry.operations += operations;
    entry.nanos += nanos;
  }

  private Entry find(PlanNode node, String device, ResultCode code, boolean byBurst) {
    // From the end: what a loop repeats was added lately.
    for (int i = entries.size() - 1; i >= 0; i--) {
      Entry entry = entries.get(i);
      if (entry.node == node
          && entry.code == code
          && entry.byBurst == byBurst
          && entry.device.equals(device)) {
        return entry;
      }
    }
    Entry added = new Entry(node, device, code, byBurst);
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
