// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.runtime.call.RuntimeThreads;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The thread in which compilations are planned again: one, since two would compile against each
 * other. Thread-safe. It ends when there is nothing to do.
 */
final class ReplanThread implements AutoCloseable {
  private static final long IDLE_SECONDS = 5;
  private static final long END_SECONDS = 5;

  private final Set<Object> waiting = ConcurrentHashMap.newKeySet();
  private final ThreadPoolExecutor thread =
      new ThreadPoolExecutor(
          1,
          1,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          RuntimeThreads.named("thalamus-replan-"));

  private volatile Object running;

  ReplanThread() {
    thread.allowCoreThreadTimeOut(true);
  }

  /** Runs a task later, unless one for the same subject waits already. */
  void submit(Object subject, Runnable task) {
    if (!waiting.add(subject)) {
      return;
    }
    try {
      thread.execute(
          () -> {
            running = subject;
            // Before the task: what changes from now on needs another one.
            waiting.remove(subject);
            try {
              task.run();
            } finally {
              running = null;
            }
          });
    } catch (RejectedExecutionException e) {
      // Closed: nothing will run on any plan any more.
      waiting.remove(subject);
    }
  }

  /** Returns whether a task for a subject waits or runs. */
  boolean isBusyWith(Object subject) {
    return waiting.contains(subject) || running == subject;
  }

  @Override
  public void close() {
    thread.shutdownNow();
    try {
      thread.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
