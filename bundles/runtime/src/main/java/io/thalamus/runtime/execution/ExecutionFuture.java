// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ExecutionReport;
import java.util.concurrent.CompletableFuture;

/** The result of an asynchronous execution. Cancelling it tells the execution to stop. */
final class ExecutionFuture extends CompletableFuture<ExecutionReport> {
  private final RunControl control;

  ExecutionFuture(RunControl control) {
    this.control = control;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    // First the result: told to stop, the execution would complete it with a failure.
    boolean cancelled = super.cancel(mayInterruptIfRunning);
    if (cancelled) {
      // A driver's thread state is its own business: an execution is asked, never interrupted.
      control.cancel();
    }
    return cancelled;
  }
}
