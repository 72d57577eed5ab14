// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The claim to a thing that is used by one at a time, and keeps contents from one use to the next.
 * Thread-safe. Any thread may have the contents released: it does that itself while nobody uses the
 * thing; otherwise the user does at the end of the use.
 *
 * <pre>
 *   FREE -- take --> TAKEN -- exit --> FREE
 *   FREE -- empty --> EMPTIED --> FREE        TAKEN -- empty --> STALE -- exit --> FREE
 *   FREE -- close --> CLOSED                  TAKEN, STALE -- close --> CLOSING -- exit --> CLOSED
 * </pre>
 */
final class Claim {
  private static final int FREE = 0;
  private static final int TAKEN = 1;
  private static final int STALE = 2;
  private static final int EMPTIED = 3;
  private static final int CLOSING = 4;
  private static final int CLOSED = 5;

  private final AtomicInteger state = new AtomicInteger(FREE);
  private final Runnable onEmpty;
  private final Runnable onEnd;

  /**
   * A claim that nobody has.
   *
   * @param onEmpty releases the contents, of which there may be none; called by one thread at a
   *     time, never during a use, and must be short
   * @param onEnd called once, after the contents are released the last time
   */
  Claim(Runnable onEmpty, Runnable onEnd) {
    this.onEmpty = onEmpty;
    this.onEnd = onEnd;
  }

  /** Begins a use; returns false if the thing is in use or closed. */
  boolean take() {
    int now = state.get();
    while (now == EMPTIED || (now == FREE && !state.compareAndSet(FREE, TAKEN))) {
      Thread.onSpinWait();
      now = state.get();
    }
    return now == FREE;
  }

  /** Ends the use. */
  void exit() {
    if (state.compareAndSet(TAKEN, FREE)) {
      return;
    }
    onEmpty.run();
    if (!state.compareAndSet(STALE, FREE)) {
      state.set(CLOSED);
      onEnd.run();
    }
  }

  /** Has the contents released, now or at the end of the use. */
  void empty() {
    int now = state.get();
    while (now == FREE || now == TAKEN) {
      if (state.compareAndSet(now, now == FREE ? EMPTIED : STALE)) {
        if (now == FREE) {
          onEmpty.run();
          state.set(FREE);
        }
        return;
      }
      now = state.get();
    }
  }

  /** Has the contents released, now or at the end of the use, and allows no further use. */
  void close() {
    int now = state.get();
    while (now < CLOSING) {
      if (now == EMPTIED) {
        Thread.onSpinWait();
      } else if (state.compareAndSet(now, now == FREE ? CLOSED : CLOSING)) {
        if (now == FREE) {
          onEmpty.run();
          onEnd.run();
        }
        return;
      }
      now = state.get();
    }
  }
}
