// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

/** A thread that waits for a permit. Its entry is of the lock of {@link Permits}. */
final class Waiter {
  /**
   * The time for which a thread that has asked for a permit polls before it sleeps. A thread that
   * wakes up on a saturated machine may have to wait for a whole time slice.
   */
  private static final long POLL_NANOS = 200_000L;

  /**
   * The part of that in which it keeps the processor: some checkpoints of a fast device. Later it
   * lets others go first, since it may have displaced the very thread that it has asked.
   */
  private static final long KEEP_NANOS = 40_000L;

  final Contender contender;
  final Thread thread = Thread.currentThread();
  FairQueue.Entry<Waiter> entry;
  volatile boolean isGranted;

  /** True if its contender goes on without it. */
  volatile boolean isDropped;

  /** The waiter of this thread. */
  Waiter(Contender contender) {
    this.contender = contender;
  }

  /** Waits without sleeping, for a short time of the machine. */
  void poll() {
    long start = System.nanoTime();
    for (long spent = 0; !isGranted && spent < POLL_NANOS; spent = System.nanoTime() - start) {
      if (spent < KEEP_NANOS) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
  }
}
