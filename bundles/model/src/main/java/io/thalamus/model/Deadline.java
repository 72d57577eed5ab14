// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.time.Duration;
import java.util.Objects;

/**
 * A moment on a steady clock, before which work must be done. Immutable. The clock is that of the
 * process unless another one is given.
 *
 * <p>Compared by difference, as {@link System#nanoTime()} demands; further away than 2^62
 * nanoseconds counts as never.
 */
public final class Deadline {
  /** No deadline. */
  public static final Deadline NONE = never(NanoClock.SYSTEM);

  private static final long FURTHEST = 1L << 62;

  private final long nanoTime;
  private final boolean set;
  private final NanoClock clock;

  private Deadline(long nanoTime, boolean set, NanoClock clock) {
    this.nanoTime = nanoTime;
    this.set = set;
    this.clock = Objects.requireNonNull(clock, "clock");
  }

  /** No deadline, for work whose timeouts are measured by another clock. */
  public static Deadline never(NanoClock clock) {
    return new Deadline(0, false, clock);
  }

  /** The moment this long from now; one that is not positive has passed already. */
  public static Deadline after(Duration duration) {
    return after(duration, NanoClock.SYSTEM);
  }

  /** The moment this long from now by another clock. */
  public static Deadline after(Duration duration, NanoClock clock) {
    long nanos;
    try {
      nanos = duration.toNanos();
    } catch (ArithmeticException e) {
      // Durations beyond 292 years do not fit; their sign says which end was meant.
      nanos = duration.isNegative() ? 0 : FURTHEST;
    }
    return nanos >= FURTHEST
        ? never(clock)
        : new Deadline(clock.nanoTime() + Math.max(nanos, 0), true, clock);
  }

  /**
   * The moment at which {@link System#nanoTime()} reads this value.
   *
   * @param nanoTime less than 2^62 nanoseconds away from now
   */
  public static Deadline ofNanoTime(long nanoTime) {
    return new Deadline(nanoTime, true, NanoClock.SYSTEM);
  }

  /**
   * Returns what the clock reads at the moment.
   *
   * @throws IllegalStateException where there is no deadline
   */
  public long nanoTime() {
    if (!set) {
      throw new IllegalStateException("there is no deadline");
    }
    return nanoTime;
  }

  /** Returns the clock that it is a moment of. */
  public NanoClock clock() {
    return clock;
  }

  /** Returns whether there is a deadline at all. */
  public boolean isSet() {
    return set;
  }

  /** Returns whether the moment has come: {@code now >= deadline}, as in AOSP. */
  public boolean hasPassed() {
    return set && clock.nanoTime() - nanoTime >= 0;
  }

  /** The time left, zero where it has passed; about 146 years where there is no deadline. */
  public Duration remaining() {
    return set
        ? Duration.ofNanos(Math.max(0, nanoTime - clock.nanoTime()))
        : Duration.ofNanos(FURTHEST);
  }

  /** The earlier of the two, which are moments of one clock if both are set. */
  public Deadline earlier(Deadline other) {
    if (!set) {
      return other;
    }
    return !other.set || nanoTime - other.nanoTime <= 0 ? this : other;
  }

  @Override
  public String toString() {
    return set ? "in " + remaining().toNanos() + " ns" : "none";
  }
}
