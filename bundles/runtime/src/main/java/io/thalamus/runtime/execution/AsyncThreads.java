// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.RuntimeThreads;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/**
 * The threads of asynchronous executions. Thread-safe; a bounded number, which end when they have
 * nothing to do, and with the runtime.
 */
@Component(service = AsyncThreads.class)
public final class AsyncThreads implements AutoCloseable {
  private static final int WAITING = 4096;
  private static final int IDLE_SECONDS = 10;

  /** The share of the latest time in the mean is one of two to this power. */
  private static final int LATEST_SHIFT = 3;

  private final Set<AsyncRun> unfinished = ConcurrentHashMap.newKeySet();
  private final ThreadPoolExecutor threads;

  /** The mean time of an execution in a thread; 0 before the first. */
  private volatile long meanNanos;

  /** As many threads as twice the processors: executions wait for devices as well as compute. */
  @Activate
  public AsyncThreads() {
    int count = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
    threads =
        RuntimeThreads.pool(
            "thalamus-async-", count, IDLE_SECONDS, new LinkedBlockingQueue<>(WAITING));
  }

  /** Runs an execution later; it fails where too many wait, or the runtime has stopped. */
  void submit(AsyncRun run) {
    unfinished.add(run);
    run.whenComplete((report, failure) -> unfinished.remove(run));
    try {
      threads.execute(run);
    } catch (RejectedExecutionException e) {
      run.refuse(
          threads.isShutdown()
              ? Cause.RUNTIME_STOPPED.report()
              : Cause.QUEUE_FULL.report(WAITING + " are too many", untilServed()));
    }
  }

  /** Learns how long an execution kept a thread. */
  void took(long nanos) {
    long mean = meanNanos;
    // Two threads may overwrite each other's mean: an estimate is all it is.
    meanNanos = Math.max(1, mean == 0 ? nanos : mean + ((nanos - mean) >> LATEST_SHIFT));
  }

  /**
   * Returns the time until what waits now has had its turn: as many as wait, times the mean time of
   * one, shared by the threads; empty before the first has ended.
   */
  Optional<Duration> untilServed() {
    long mean = meanNanos;
    long waiting = threads.getQueue().size() + 1L;
    return mean == 0
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(Math.ceilDiv(mean * waiting, threads.getMaximumPoolSize())));
  }

  /** Ends all executions and the threads. */
  @Deactivate
  @Override
  public void close() {
    threads.shutdown();
    unfinished.forEach(AsyncRun::stop);
    RuntimeThreads.join(threads);
  }
}
