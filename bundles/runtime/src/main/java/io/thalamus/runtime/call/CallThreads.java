// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads in which devices are called that may never answer. Thread-safe. As many as there are
 * such calls; they end when they have nothing to do. A thread that a device holds cannot be ended
 * from outside.
 */
public final class CallThreads implements Executor, AutoCloseable {
  private static final int MOST = 256;
  private static final long IDLE_SECONDS = 5;

  private final ThreadPoolExecutor threads;

  /** Creates the threads; none runs until there is a call. */
  public CallThreads() {
    threads =
        new ThreadPoolExecutor(
            0,
            MOST,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            RuntimeThreads.named("thalamus-call-"));
  }

  @Override
  public void execute(Runnable call) {
    threads.execute(call);
  }

  @Override
  public void close() {
    threads.shutdown();
  }
}
