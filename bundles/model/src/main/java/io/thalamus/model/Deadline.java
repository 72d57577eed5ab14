// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.time.Duration;

/**
 * A moment on the steady clock of this process, before which work must be done. Immutable.
 *
 * <p>Compared by difference, as {@link System#nanoTime()} demands; further away than 2^62
 * nanoseconds counts as never.
 */
public final class Deadline {
  /** No deadline. */
  public static final Deadline NONE = new Deadline(0, false);

  private static final long FURTHEST = 1L << 62;

  private final long nanoTime;
  private final boolean set;

  private Deadline(long nanoTime, boolean set) {
    this.nanoTime = nanoTime;
    this.set = set;
  }

  /** The moment this long from now; one that is not positive has passed already. */
  public static Deadline after(Duration duration) {
    long nanos;
    try {
      nanos = duration.toNanos();
    } catch (ArithmeticException e) {
      // Durations beyond 292 years do not fit; their sign says which end was meant.
      nanos = duration.isNegative() ? 0 : FURTHEST;
    }
    return nanos >= FURTHEST ? NONE : new Deadline(System.nanoTime() + Math.max(nanos, 0), true);
  }

  /**
   * The moment at which {@link System#nanoTime()} reads this value.
   *
   * @param nanoTime less than 2^62 nanoseconds away from now
   */
  public static Deadline ofNanoTime(long nanoTime) {
    return new Deadline(nanoTime, true);
  }

  /**
   * Returns what {@link System#nanoTime()} reads at the moment.
   *
   * @throws IllegalStateException where there is no deadline
   */
  public long nanoTime() {
    if (!set) {
      throw new IllegalStateException("there is no deadline");
    }
    return nanoTime;
  }

  /** Returns whether there is a deadline at all. */
  public boolean isSet() {
    return set;
  }

  /** Returns whether the moment has come: {@code now >= deadline}, as in AOSP. */
  public boolean hasPassed() {
    return set && System.nanoTime() - nanoTime >= 0;
  }

  /** The time left, zero where it has passed; about 146 years where there is no deadline. */
  public Duration remaining() {
    return set
        ? Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime()))
        : Duration.ofNanos(FURTHEST);
  }

  /** The earlier of the two. */
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
