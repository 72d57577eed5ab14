// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.util.concurrent.locks.LockSupport;

/**
 * The portable way to sleep: the waiting thread looks at the word again and again, ever more
 * seldom. Immutable.
 *
 * @param reason why there is no better way
 */
record Polling(String reason) implements Sleep {
  private static final long FIRST_NANOS = 10_000;
  private static final int DOUBLINGS = 7;

  @Override
  public void sleep(long address, int expected, long nanos, int round) {
    // A thread with the interrupt status would not be parked at all.
    boolean isInterrupted = Thread.interrupted();
    LockSupport.parkNanos(this, Math.min(nanos, FIRST_NANOS << Math.min(round, DOUBLINGS)));
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void wakeAll(long address) {
    // Every sleeper looks by itself.
  }

  @Override
  public String description() {
    return "polling: " + reason;
  }
}
