// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The source of the runtime's threads. Stateless. */
public final class RuntimeThreads {
  private static final int MOST_CALLS = 256;
  private static final int IDLE_SECONDS = 5;
  private static final int END_SECONDS = 5;

  private RuntimeThreads() {}

  /**
   * Returns a factory of daemon threads with numbered names. They take over neither class loader
   * nor thread locals of the first caller, which may belong to a bundle that is about to leave.
   */
  public static ThreadFactory named(String prefix) {
    AtomicInteger number = new AtomicInteger();
    return task -> {
      Thread thread =
          Thread.ofPlatform()
              .daemon()
              .inheritInheritableThreadLocals(false)
              .name(prefix + number.incrementAndGet())
              .unstarted(task);
      thread.setContextClassLoader(RuntimeThreads.class.getClassLoader());
      return thread;
    };
  }

  /** Returns the threads for calls that may never be answered: one more for each such call. */
  public static ThreadPoolExecutor forCalls() {
    return new ThreadPoolExecutor(
        0,
        MOST_CALLS,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new SynchronousQueue<>(),
        named("thalamus-call-"));
  }

  /** Returns a number of threads for what waits in a queue, which end when they have no task. */
  public static ThreadPoolExecutor pool(
      String prefix, int count, int idleSeconds, BlockingQueue<Runnable> queue) {
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(count, count, idleSeconds, TimeUnit.SECONDS, queue, named(prefix));
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }

  /** Waits a while for the threads that are asked to end. */
  public static void join(ExecutorService threads) {
    try {
      threads.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
