// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import java.time.Duration;
import java.util.function.LongSupplier;

/** The patience with a call: how long its device may show no sign of life. Used by one thread. */
final class Patience {
  private final LongSupplier signs;
  private final long limitNanos;
  private long sinceNanos = System.nanoTime();
  private long last;

  /**
   * Begins to wait.
   *
   * @param signs a number that changes while the device is at work
   */
  Patience(LongSupplier signs, Duration limit) {
    this.signs = signs;
    this.limitNanos = limit.toNanos();
    this.last = signs.getAsLong();
  }

  /** Does something that the device waits for, so that the time does not count. */
  void except(Runnable work) {
    long start = System.nanoTime();
    work.run();
    sinceNanos += System.nanoTime() - start;
  }

  boolean isOver() {
    long now = signs.getAsLong();
    if (now != last) {
      last = now;
      sinceNanos = System.nanoTime();
    }
    return System.nanoTime() - sinceNanos > limitNanos;
  }
}
