// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ResultCode;
import io.thalamus.runtime.call.RuntimeThreads;
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

  private final Set<AsyncRun> unfinished = ConcurrentHashMap.newKeySet();
  private final ThreadPoolExecutor threads;

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
      run.fail(
          ResultCode.RESOURCE_EXHAUSTED_TRANSIENT,
          "too many executions wait, or the runtime has stopped");
    }
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
