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
    // A driver's thread state is its own business: an execution is asked, never interrupted.
    control.cancel();
    return super.cancel(mayInterruptIfRunning);
  }
}
