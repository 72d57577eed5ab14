// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Timing;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Events that another thread completes at random moments, and executions that wait for them.
 * Thread-safe. Each thread ends with its event.
 */
final class LateEvents {
  private static final long MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private final long seed;
  private final AtomicLong count = new AtomicLong();

  /** Events whose moments depend on a seed. */
  LateEvents(long seed) {
    this.seed = seed;
  }

  long seed() {
    return seed;
  }

  /**
   * Starts an execution behind an event, and returns its future.
   *
   * <p>The event completes after the start, or, one time in four, while the execution is started.
   * An execution that succeeds before its event completes ends with BAD_STATE: it did not wait.
   */
  CompletableFuture<ExecutionReport> start(Execution execution) {
    SplittableRandom random = new SplittableRandom(seed + count.getAndIncrement());
    boolean isBeside = random.nextInt(4) == 0;
    long delay = random.nextLong(MOST_NANOS);
    CompletableFuture<ExecutionReport> event = new CompletableFuture<>();
    if (isBeside) {
      complete(event, delay / 16);
      return execution.startComputeWithDependencies(List.of(event));
    }
    CompletableFuture<ExecutionReport> ended =
        execution
            .startComputeWithDependencies(List.of(event))
            .thenApply(
                report ->
                    report.isSuccess() && !event.isDone()
                        ? ExecutionReport.failed(
                            ResultCode.BAD_STATE,
                            "it ended before the event that it was to wait for")
                        : report);
    complete(event, delay);
    return ended;
  }

  private static void complete(CompletableFuture<ExecutionReport> event, long delayNanos) {
    Thread.ofPlatform()
        .daemon()
        .name("verify-event")
        .start(
            () -> {
              LockSupport.parkNanos(delayNanos);
              event.complete(
                  new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, List.of()));
            });
  }
}
