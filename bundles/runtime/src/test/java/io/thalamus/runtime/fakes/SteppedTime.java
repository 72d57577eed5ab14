// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.runtime.call.Timekeeper;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A clock that stands until a test moves it; what becomes due is done in the test's thread. */
public final class SteppedTime implements Timekeeper {
  public static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  private record Task(long dueNanos, Runnable action) {}

  private final List<Task> tasks = new ArrayList<>();
  private long nanos;
  private volatile Runnable onLook = () -> {};

  /** Has this done in each thread that reads the time, before it does. */
  public void onLook(Runnable action) {
    onLook = action;
  }

  @Override
  public long nanoTime() {
    onLook.run();
    synchronized (this) {
      return nanos;
    }
  }

  @Override
  public synchronized Instant now() {
    return START.plusNanos(nanos);
  }

  @Override
  public synchronized void after(Duration delay, Runnable task) {
    tasks.add(new Task(nanos + delay.toNanos(), task));
  }

  /** Returns the number of tasks that are still to be done. */
  public synchronized int pending() {
    return tasks.size();
  }

  /** Moves on, doing what is due on the way. */
  public void advance(Duration step) {
    long end;
    synchronized (this) {
      end = nanos + step.toNanos();
    }
    while (true) {
      Task next;
      synchronized (this) {
        next =
            tasks.stream()
                .filter(task -> task.dueNanos <= end)
                .min(Comparator.comparingLong(Task::dueNanos))
                .orElse(null);
        if (next == null) {
          nanos = end;
          return;
        }
        tasks.remove(next);
        nanos = Math.max(nanos, next.dueNanos);
      }
      next.action.run();
    }
  }

  @Override
  public synchronized void close() {
    tasks.clear();
  }
}
