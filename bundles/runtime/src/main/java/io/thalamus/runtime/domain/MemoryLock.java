// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import java.util.function.BooleanSupplier;

/**
 * A lock that many readers or one writer hold. Thread-safe. Readers that come after a writer do not
 * overtake it. A use is not bound to a thread: another thread may end it.
 */
final class MemoryLock {
  /** The interval at which a waiting thread asks whether to wait any longer. */
  private static final long LOOK_MILLIS = 20;

  private int readers;
  private int waitingWriters;
  private boolean isWritten;
  private long ended;

  /**
   * Begins a use.
   *
   * @param mayWait asked now and then while other uses must end first, outside of any lock
   * @return whether the use has begun
   */
  boolean begin(boolean isWriting, BooleanSupplier mayWait) {
    boolean interrupted = false;
    boolean waits = false;
    try {
      while (true) {
        synchronized (this) {
          if (waits && isWriting) {
            waitingWriters--;
          }
          if (isFree(isWriting)) {
            if (isWriting) {
              isWritten = true;
            } else {
              readers++;
            }
            return true;
          }
          if (isWriting) {
            waitingWriters++;
          }
          // Soon for the first time: who must be waited for inherits the rank then.
          long look = waits ? LOOK_MILLIS : 1;
          waits = true;
          try {
            wait(look);
          } catch (InterruptedException e) {
            // Executions are not interruptible; the caller may look at its flag afterwards.
            interrupted = true;
          }
        }
        if (!mayWait.getAsBoolean()) {
          giveUp(isWriting);
          return false;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private boolean isFree(boolean isWriting) {
    return isWriting ? !isWritten && readers == 0 : !isWritten && waitingWriters == 0;
  }

  private synchronized void giveUp(boolean isWriting) {
    if (isWriting) {
      waitingWriters--;
      notifyAll();
    }
  }

  /** Returns how many uses have ended. */
  synchronized long ended() {
    return ended;
  }

  /** Ends a use. */
  synchronized void end(boolean isWriting) {
    ended++;
    if (isWriting) {
      isWritten = false;
    } else {
      readers--;
    }
    notifyAll();
  }
}
