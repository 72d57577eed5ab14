// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.model.Deadline;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.schedule.Application;
import io.thalamus.runtime.schedule.Contender;
import java.time.Duration;

/**
 * The control of a running execution, which ends when its caller cancels it or its deadline has
 * passed, and stands back for more urgent ones. Thread-safe.
 */
final class RunControl extends Contender {
  private final CompilationLabel label;
  private volatile long execution;
  private volatile boolean cancelled;

  /** Set before another thread sees this. */
  private Deadline deadline;

  private Duration given = Duration.ZERO;

  /** The control of an execution of a compilation, which may take for ever. */
  RunControl(ExecutionHost host, Application application, Priority priority) {
    super(application, priority);
    label = host.label().with(application.client(), priority);
    deadline = Deadline.never(host.time());
  }

  /**
   * The control of the next run of the same execution.
   *
   * @param isPromised whether that has what the last one was promised when it was refused
   */
  RunControl(ExecutionHost host, RunControl last, boolean isPromised) {
    super(last, isPromised);
    label = last.label;
    deadline = Deadline.never(host.time());
  }

  /** Sets the number that events have for the execution. */
  void setExecution(long number) {
    execution = number;
  }

  @Override
  public CompilationLabel label() {
    return label;
  }

  @Override
  public long execution() {
    return execution;
  }

  void cancel() {
    cancelled = true;
    wake();
  }

  boolean isCancelled() {
    return cancelled;
  }

  /**
   * Sets the moment at which the time given to the execution is over, before anybody else sees it.
   */
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
  protected long nanosLeft() {
    return deadline.remaining().toNanos();
  }

  @Override
  public Signal status() {
    if (cancelled) {
      return Signal.CANCELLED;
    }
    return deadline.hasPassed() ? Signal.DEADLINE : Signal.CONTINUE;
  }
}
