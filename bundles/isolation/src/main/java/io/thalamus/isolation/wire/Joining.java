// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import java.time.Duration;

/** The wait for the end of a thread, which no interrupt cuts short. Stateless. */
public final class Joining {
  private Joining() {}

  /** Waits no longer than this. An interrupt is kept for the caller; nobody waits for itself. */
  public static void join(Thread thread, Duration limit) {
    boolean isInterrupted = false;
    long start = System.nanoTime();
    long left = limit.toNanos();
    while (thread != Thread.currentThread() && thread.isAlive() && left > 0) {
      try {
        thread.join(Duration.ofNanos(left));
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
      left = limit.toNanos() - (System.nanoTime() - start);
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
