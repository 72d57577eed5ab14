// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.runtime.call.RuntimeThreads;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/**
 * The threads of asynchronous executions. Thread-safe; a bounded number, which end when they have
 * nothing to do, and with the runtime.
 */
@Component(service = AsyncThreads.class)
public final class AsyncThreads implements Executor, AutoCloseable {
  private static final int WAITING = 4096;
  private static final long IDLE_SECONDS = 10;
  private static final long END_SECONDS = 5;

  private final Set<AsyncRun> unfinished = ConcurrentHashMap.newKeySet();
  private final ThreadPoolExecutor threads;

  /** As many threads as twice the processors: executions wait for devices as well as compute. */
  @Activate
  public AsyncThreads() {
    int count = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
    threads =
        new ThreadPoolExecutor(
            count,
            count,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(WAITING),
            RuntimeThreads.named("thalamus-async-"));
    threads.allowCoreThreadTimeOut(true);
  }

  @Override
  public void execute(Runnable task) {
    if (!(task instanceof AsyncRun run)) {
      threads.execute(task);
      return;
    }
    unfinished.add(run);
    try {
      threads.execute(
          () -> {
            try {
              run.run();
            } finally {
              unfinished.remove(run);
            }
          });
    } catch (RuntimeException e) {
      unfinished.remove(run);
      throw e;
    }
  }

  /** Ends all executions and the threads. */
  @Deactivate
  @Override
  public void close() {
    threads.shutdown();
    unfinished.forEach(AsyncRun::stop);
    try {
      threads.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
