// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.runtime.call.RuntimeThreads;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;

/**
 * The thread in which compilations are planned again: one, since two would compile against each
 * other. Thread-safe. It ends when there is nothing to do.
 */
final class ReplanThread implements AutoCloseable {
  private static final int IDLE_SECONDS = 5;

  private final Set<Object> waiting = ConcurrentHashMap.newKeySet();
  private final ThreadPoolExecutor thread =
      RuntimeThreads.pool("thalamus-replan-", 1, IDLE_SECONDS, new LinkedBlockingQueue<>());

  private volatile Object running;

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
    RuntimeThreads.join(thread);
  }
}
