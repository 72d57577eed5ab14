// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The machine's clocks, with one thread, which ends when nothing waits for its time. Thread-safe.
 */
public final class SystemTime implements Timekeeper {
  private static final long IDLE_SECONDS = 5;

  private final ScheduledThreadPoolExecutor thread =
      new ScheduledThreadPoolExecutor(1, RuntimeThreads.named("thalamus-health-"));

  /** Creates clocks whose thread runs only while something waits for its time. */
  public SystemTime() {
    thread.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    thread.allowCoreThreadTimeOut(true);
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public Instant now() {
    return Instant.now();
  }

  @Override
  public void after(Duration delay, Runnable task) {
    try {
      thread.schedule(() -> run(task), delay.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      // Closed: the devices that the task is about are gone too.
      log().log(Level.DEBUG, "not done, since the runtime stops");
    }
  }

  private static void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      // The top of a thread: the executor would keep it to itself.
      log().log(Level.ERROR, "a delayed task failed", e);
    }
  }

  @Override
  public void close() {
    thread.shutdownNow();
    RuntimeThreads.join(thread);
  }

  private static System.Logger log() {
    return System.getLogger(SystemTime.class.getPackageName());
  }
}
