// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.hal.ExecutionControl;
import io.thalamus.model.NanoClock;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that the kit advances, hours away from that of the process, and the control that counts
 * checkpoints and advances it at one of them. Thread-safe.
 */
public final class KitClock implements NanoClock, ExecutionControl {
  /** The distance from the clock of the process. */
  private static final Duration AWAY = Duration.ofHours(3);

  private final AtomicLong now;
  private final AtomicInteger checkpoints = new AtomicInteger();
  private final int advancesAt;
  private final Duration step;

  private KitClock(Duration away, int advancesAt, Duration step) {
    this.now = new AtomicLong(System.nanoTime() + away.toNanos());
    this.advancesAt = advancesAt;
    this.step = step;
  }

  /** A clock whose deadlines seem to be far ahead by the clock of the process. */
  public static KitClock ahead() {
    return new KitClock(AWAY, 0, Duration.ZERO);
  }

  /** A clock whose deadlines seem to have passed by the clock of the process. */
  public static KitClock behind() {
    return new KitClock(AWAY.negated(), 0, Duration.ZERO);
  }

  /** A clock ahead that is advanced at a checkpoint, the first of which is 1. */
  public static KitClock advancing(int checkpoint, Duration step) {
    return new KitClock(AWAY, checkpoint, step);
  }

  /** Reads the time. Each look takes a nanosecond, so that a loop that only looks ends, too. */
  @Override
  public long nanoTime() {
    return now.getAndIncrement();
  }

  /** Lets time pass. */
  public void advance(Duration time) {
    now.addAndGet(time.toNanos());
  }

  @Override
  public Signal checkpoint() {
    if (checkpoints.incrementAndGet() == advancesAt) {
      advance(step);
    }
    return Signal.CONTINUE;
  }

  @Override
  public Signal status() {
    return Signal.CONTINUE;
  }

  /** Returns how many checkpoints were passed. */
  public int checkpoints() {
    return checkpoints.get();
  }
}
