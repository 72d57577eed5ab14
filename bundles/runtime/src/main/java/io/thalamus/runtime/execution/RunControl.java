// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.hal.ExecutionControl;
import io.thalamus.model.Deadline;

/**
 * The control of a running execution, which ends when its caller cancels it or its deadline has
 * passed. Thread-safe.
 */
final class RunControl implements ExecutionControl {
  private volatile boolean cancelled;
  private volatile Deadline deadline = Deadline.NONE;

  void cancel() {
    cancelled = true;
  }

  boolean isCancelled() {
    return cancelled;
  }

  void setDeadline(Deadline value) {
    deadline = value;
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
