// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ExecutionReport;
import io.thalamus.model.Deadline;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.schedule.Application;
import io.thalamus.runtime.schedule.FairQueue;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An execution waiting for, or in, one of the {@link AsyncThreads}, and the future of its result.
 * Thread-safe. Cancelling it tells the execution to stop.
 */
final class AsyncRun extends CompletableFuture<ExecutionReport> implements Runnable {
  private final ExecutionImpl execution;

  // Of this try: an execution that is refused may be started again.
  private final RunControl control;
  private final Lateness lateness;

  /** Claimed by whoever begins the execution, or answers that it never will. */
  private final AtomicBoolean begun = new AtomicBoolean();

  /** Its place in the queue; null before it has one. Written by whoever adds it. */
  volatile FairQueue.Entry<AsyncRun> entry;

  /** The executions of this runtime that it waits for; empty once all of them are done. */
  private volatile List<AsyncRun> behind = List.of();

  /** The cause of a missed deadline until it begins. */
  private volatile Cause waiting;

  /**
   * An execution that waits.
   *
   * @param waiting the cause where its deadline passes meanwhile
   */
  AsyncRun(ExecutionImpl execution, Cause waiting) {
    this.execution = execution;
    this.control = execution.control();
    this.lateness = execution.lateness();
    this.waiting = waiting;
  }

  /** Answers at the deadline if it has not begun by then. */
  void watch(Timekeeper time, Deadline deadline) {
    // The clock must not keep what nobody waits for any more.
    WeakReference<AsyncRun> self = new WeakReference<>(this);
    time.after(
        deadline.remaining(),
        () -> {
          AsyncRun late = self.get();
          if (late != null) {
            late.refuse(late.lateness.over(late.waiting));
          }
        });
  }

  /** Waits for others from now on, which inherit its rank. */
  void waitFor(List<? extends CompletableFuture<?>> others, AsyncThreads threads) {
    behind = others.stream().filter(AsyncRun.class::isInstance).map(AsyncRun.class::cast).toList();
    threads.inherit(this);
  }

  List<AsyncRun> behind() {
    return behind;
  }

  /** Waits for a thread from now on. */
  void queue(AsyncThreads threads) {
    waiting = Cause.OVER_IN_QUEUE;
    threads.submit(this);
  }

  Application application() {
    return control.application();
  }

  Priority priority() {
    return control.priority();
  }

  RunControl control() {
    return control;
  }

  /** Returns how long it has waited for devices. */
  long waitedNanos() {
    return control.waitedNanos();
  }

  @Override
  public void run() {
    if (isDone() || !begun.compareAndSet(false, true)) {
      return;
    }
    try {
      complete(execution.runQueued(waiting));
    } catch (RuntimeException | Error e) {
      // The top of a thread: whoever waits must learn of it.
      completeExceptionally(e);
      throw e;
    }
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    // First the result: asked to stop, the execution would complete it with a failure.
    boolean cancelled = super.cancel(mayInterruptIfRunning);
    if (cancelled) {
      // A driver's thread state is its own business: an execution is asked, never interrupted.
      control.cancel();
    }
    return cancelled;
  }

  /** Ends it: now where it has not begun, else as soon as its device asks. */
  void stop() {
    control.cancel();
    complete(Cause.RUNTIME_STOPPED.report());
  }

  /** Completes it with the report of an execution that is not begun; not if it has begun. */
  void refuse(ExecutionReport report) {
    if (begun.compareAndSet(false, true)) {
      complete(execution.ended(lateness.refused(report)));
    }
  }

  /** Completes it with a report of which nobody need be told; not if it has begun. */
  void end(ExecutionReport report) {
    if (begun.compareAndSet(false, true)) {
      complete(execution.ended(report));
    }
  }
}
