// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;

/** An execution waiting for, or in, one of the {@link AsyncThreads}. */
final class AsyncRun implements Runnable {
  private final ExecutionImpl execution;
  private final ExecutionFuture future;

  AsyncRun(ExecutionImpl execution, ExecutionFuture future) {
    this.execution = execution;
    this.future = future;
  }

  @Override
  public void run() {
    if (future.isDone()) {
      return;
    }
    try {
      future.complete(execution.run());
    } catch (RuntimeException | Error e) {
      // The top of a thread: whoever waits must learn of it.
      future.completeExceptionally(e);
      throw e;
    }
  }

  /** Ends it: now where it has not begun, else as soon as its device asks. */
  void stop() {
    execution.control().cancel();
    future.complete(
        ExecutionReport.failed(
            ResultCode.BAD_STATE, "the runtime stopped before the execution was done"));
  }
}
