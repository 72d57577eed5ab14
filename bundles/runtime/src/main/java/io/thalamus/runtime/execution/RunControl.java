// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.hal.ExecutionControl;
import io.thalamus.model.Deadline;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.plan.PreparedPlan;
import java.time.Duration;

/**
 * The control of a running execution, which ends when its caller cancels it or its deadline has
 * passed. Thread-safe.
 */
final class RunControl implements ExecutionControl {
  private volatile boolean cancelled;
  private volatile Deadline deadline;
  private volatile Duration given = Duration.ZERO;

  /** The control of an execution that may take for ever, by the clock of this moment. */
  RunControl(Deadline never) {
    deadline = never;
  }

  void cancel() {
    cancelled = true;
  }

  boolean isCancelled() {
    return cancelled;
  }

  /** Sets the moment at which the time given to the execution is over. */
  void setDeadline(Duration time, Deadline end) {
    given = time;
    deadline = end;
  }

  /** Returns why the deadline stopped the execution of a plan: on idle devices too, or not. */
  Cause stopCause(PreparedPlan plan) {
    return plan.idleNanos() >= given.toNanos() ? Cause.STOPPED_HOPELESS : Cause.STOPPED;
  }

  Deadline deadline() {
    return deadline;
  }

  @Override
  public Signal checkpoint() {
    if (cancelled) {
      return Signal.CANCELLED;
    }
    return deadline.hasPassed() ? Signal.DEADLINE : Signal.CONTINUE;
  }
}
