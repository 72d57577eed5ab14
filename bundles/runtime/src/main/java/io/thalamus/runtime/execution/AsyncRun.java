// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import java.util.concurrent.CompletableFuture;

/**
 * An execution waiting for, or in, one of the {@link AsyncThreads}, and the future of its result.
 * Thread-safe. Cancelling it tells the execution to stop.
 */
final class AsyncRun extends CompletableFuture<ExecutionReport> implements Runnable {
  private final ExecutionImpl execution;

  AsyncRun(ExecutionImpl execution) {
    this.execution = execution;
  }

  @Override
  public void run() {
    if (isDone()) {
      return;
    }
    try {
      complete(execution.run(null));
    } catch (RuntimeException | Error e) {
      // The top of a thread: whoever waits must learn of it.
      completeExceptionally(e);
      throw e;
    }
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    // First the result: told to stop, the execution would complete it with a failure.
    boolean cancelled = super.cancel(mayInterruptIfRunning);
    if (cancelled) {
      // A driver's thread state is its own business: an execution is asked, never interrupted.
      execution.control().cancel();
    }
    return cancelled;
  }

  /** Ends it: now where it has not begun, else as soon as its device asks. */
  void stop() {
    execution.control().cancel();
    fail(ResultCode.BAD_STATE, "the runtime stopped before the execution was done");
  }

  /** Completes it with a failure. */
  void fail(ResultCode code, String message) {
    complete(ExecutionReport.failed(code, message));
  }
}
