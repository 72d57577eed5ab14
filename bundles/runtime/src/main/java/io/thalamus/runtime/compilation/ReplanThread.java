// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.model.NanoClock;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.RuntimeThreads;
import io.thalamus.runtime.schedule.Application;
import io.thalamus.runtime.schedule.FairQueue;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;

/**
 * The thread in which compilations are planned again: one, since two would compile against each
 * other. Thread-safe. It ends when there is nothing to do. Tasks are served in the order of a
 * {@link FairQueue}, so that an application with many models does not delay the few of another one.
 */
final class ReplanThread implements AutoCloseable {
  private static final int IDLE_SECONDS = 5;

  private final NanoClock clock;
  private final ThreadPoolExecutor thread =
      RuntimeThreads.pool("thalamus-replan-", 1, IDLE_SECONDS, new LinkedBlockingQueue<>());

  /** The subjects of tasks that wait. Under the lock, which is this object's monitor. */
  private final Set<Object> waiting = new HashSet<>();

  /** Under the lock; each entry has a place in the queue of the thread. */
  private final FairQueue<Task> queue = new FairQueue<>(Integer.MAX_VALUE);

  /** Under the lock. */
  private Object running;

  private record Task(Object subject, Application application, Runnable work) {}

  ReplanThread(NanoClock clock) {
    this.clock = clock;
  }

  /** Runs a task later, unless one for the same subject waits already. */
  synchronized void submit(
      Object subject, Application application, Priority priority, Runnable work) {
    if (!waiting.add(subject)) {
      return;
    }
    queue.add(application, priority, clock.nanoTime(), new Task(subject, application, work));
    try {
      thread.execute(this::runNext);
    } catch (RejectedExecutionException e) {
      // Closed: nothing will run on any plan any more.
      waiting.remove(subject);
    }
  }

  private void runNext() {
    long start = clock.nanoTime();
    Task task = begin(start);
    try {
      task.work().run();
    } finally {
      end(task, clock.nanoTime() - start);
    }
  }

  private synchronized Task begin(long now) {
    FairQueue.Entry<Task> next = queue.peek(now);
    Task task = next.item();
    // First: who is never idle in between keeps what is due to it.
    queue.running(task.application(), true);
    queue.take(next, now);
    running = task.subject();
    // Before the task: what changes from now on needs another one.
    waiting.remove(task.subject());
    return task;
  }

  private synchronized void end(Task task, long nanos) {
    queue.charge(task.application(), nanos);
    queue.running(task.application(), false);
    running = null;
  }

  /** Returns whether a task for a subject waits or runs. */
  synchronized boolean isBusyWith(Object subject) {
    return waiting.contains(subject) || running == subject;
  }

  @Override
  public void close() {
    thread.shutdownNow();
    RuntimeThreads.join(thread);
  }
}
