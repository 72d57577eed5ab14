// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ExecutionReport;
import io.thalamus.model.Deadline;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.events.RefusalEvent;
import io.thalamus.runtime.measurement.Refusals;
import io.thalamus.runtime.plan.PreparedPlan;
import java.time.Duration;
import java.util.Optional;

/**
 * The rules by which an execution is refused because of its deadline, and how refusals are
 * reported. Thread-safe.
 */
record Lateness(ExecutionHost host, RunControl control) {
  /** Returns the refusal of {@link #late(PreparedPlan, Cause)} for the plan of the moment. */
  ExecutionReport late(Cause waited) {
    PreparedPlan plan = control.deadline().isSet() ? host.acquirePlan().orElse(null) : null;
    if (plan == null) {
      return null;
    }
    try {
      return refused(late(plan, waited));
    } finally {
      plan.release();
    }
  }

  /**
   * Returns the refusal of an execution whose deadline has passed, or comes before even an idle
   * device would be done; null where it may begin.
   *
   * @param waited the cause where it has waited before; null where it has not
   */
  ExecutionReport late(PreparedPlan plan, Cause waited) {
    Deadline deadline = control.deadline();
    if (!deadline.isSet()) {
      return null;
    }
    if (deadline.hasPassed()) {
      return over(waited == null ? control.stopCause(plan) : waited);
    }
    long left = deadline.remaining().toNanos();
    double least = plan.leastNanos();
    // A deadline is missed when it is reached.
    if (left > least) {
      return null;
    }
    plan.refused();
    return (waited == null ? Cause.TOO_SHORT : waited)
        .report(Refusals.reason(left, least), retryAfter(waited));
  }

  private Optional<Duration> retryAfter(Cause waited) {
    return waited == Cause.OVER_IN_QUEUE ? host.asyncThreads().untilServed() : Optional.empty();
  }

  /** Returns the report of an execution whose deadline has passed. */
  ExecutionReport over(Cause cause) {
    return ExecutionReport.failed(cause.code(), cause.message(), retryAfter(cause));
  }

  /** Returns the report of an execution that is not begun, reported to whoever records; or null. */
  ExecutionReport refused(ExecutionReport report) {
    if (report != null) {
      RefusalEvent.tell(control.label(), report.code(), report.message());
    }
    return report;
  }
}
