// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import java.time.Duration;

/** The requests that have arrived and are not answered, and whether more may come. Thread-safe. */
final class Traffic {
  private long running;
  private boolean isEnding;
  private boolean isClosed;

  /** Counts a request; false if none may come any more. */
  synchronized boolean begin() {
    if (isClosed) {
      return false;
    }
    running++;
    return true;
  }

  /** Returns whether at most so many run. */
  synchronized boolean isAtMost(int requests) {
    return running <= requests;
  }

  synchronized void ended() {
    running--;
    if (running == 0) {
      notifyAll();
    }
  }

  /** Says that the end is near. Requests may still come. */
  synchronized void announceEnd() {
    isEnding = true;
  }

  synchronized boolean isEnding() {
    return isEnding;
  }

  /**
   * Lets no more requests come, and waits for those that run; less long if it is interrupted.
   *
   * @return whether none runs any more
   */
  synchronized boolean end(Duration patience) {
    isEnding = true;
    isClosed = true;
    long end = System.nanoTime() + patience.toNanos();
    try {
      for (long left = patience.toNanos();
          running > 0 && left > 0;
          left = end - System.nanoTime()) {
        wait(left / 1_000_000 + 1);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return running == 0;
  }
}
