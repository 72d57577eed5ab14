// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.model.Priority;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The entrance of requests: lets in those that there is time for, by the work before them and the
 * speed at which such work was done. A request that would miss its limit in the queue is answered
 * at once when to try again, so that all that is computed is of use to somebody. Thread-safe.
 */
final class Admission {
  /**
   * The least margin. Where others use the machine too, half of the speed may be lost at any time;
   * a shorter queue costs nothing.
   */
  static final double LEAST_MARGIN = 2;

  /**
   * The margin of a server that has just started, of which nothing is known: when many come at once
   * for the first time, its code is compiled while it answers them.
   */
  static final double FIRST_MARGIN = 2 * LEAST_MARGIN;

  private static final double MOST_MARGIN = 8;

  /** One request that takes longer than the margin allows for widens it by so much. */
  private static final double WIDER = 1.2;

  /** Each other one narrows it by so much: it rests where one of some 600 takes longer. */
  private static final double NARROWER = 0.9997;

  /** Those tell something that are expected to take this part of what they may. */
  private static final double TELLING = 0.5;

  /** No queue takes as long. */
  private static final Duration ENDLESS = Duration.ofDays(1);

  /** The furthest time that anybody is given. */
  private static final long MOST_NANOS = Duration.ofMinutes(1).toNanos();

  /** The time over which a speed is taken. */
  private static final long SAMPLE_NANOS = Duration.ofMillis(200).toNanos();

  /**
   * A lower speed counts at once, since whoever is let in by one that is gone will be late; a
   * higher one has to last.
   */
  private static final double FALLING = 0.7;

  private static final double RISING = 0.2;

  /**
   * The part of the latest speed in the mean, by which moments are promised. They lie far ahead,
   * and what holds up the machine now will be over: by the speed of the moment, those that come
   * back would find idle processors.
   */
  private static final double LATEST_PART = 0.05;

  private final int processors;
  private final LongSupplier clock;

  /** The nanoseconds of work that was let in and is not done, by priority. */
  private final long[] work = new long[Priority.values().length];

  private int requests;

  /** The work that is done in a nanosecond, while there is enough for all processors. */
  private double speed;

  /** The mean of the speeds. */
  private double meanSpeed;

  private long sampleBegin;
  private long sampleWork;

  /**
   * The times that requests take, as parts of those that were expected: nearly all of them are
   * below, whatever came in between (others of higher priority, other programs, collections).
   */
  private double margin;

  /** The moment up to which there are requests that were asked to come again. */
  private long promised;

  /**
   * An admission of all requests.
   *
   * @param margin the first one
   * @param clock in nanoseconds
   */
  Admission(int processors, double margin, LongSupplier clock) {
    this.processors = processors;
    this.margin = margin;
    this.clock = clock;
    speed = processors;
    meanSpeed = processors;
    promised = clock.getAsLong();
  }

  /** A request that was let in, and leaves once. */
  final class Place {
    private final Priority priority;
    private final long own;

    /** The nanoseconds that it was expected to take; 0 where they would tell nothing. */
    private final long expected;

    private final long limit;
    private final long begin;

    private Place(Priority priority, long own, long expected, long limit, long begin) {
      this.priority = priority;
      this.own = own;
      this.expected = expected;
      this.limit = limit;
      this.begin = begin;
    }

    /**
     * Notes the end.
     *
     * @param isDone whether the work was done
     */
    void leave(boolean isDone) {
      left(this, isDone);
    }
  }

  /**
   * Lets a request in, which must leave.
   *
   * @param own the nanoseconds that it is expected to compute; 0 if nobody knows
   * @param left the time that it has; empty for any time
   * @throws ServingException with BUSY and the time after which there is room
   */
  synchronized Place enter(Priority priority, long own, Optional<Duration> left)
      throws ServingException {
    boolean isLimited = left.isPresent() && left.get().compareTo(ENDLESS) < 0;
    long expected = 0;
    long limit = isLimited ? left.get().toNanos() : Long.MAX_VALUE;
    if (isLimited && own > 0 && requests >= processors) {
      long before = 0;
      for (int rank = priority.ordinal(); rank < work.length; rank++) {
        before += work[rank];
      }
      double reliable = reliableSpeed(own);
      expected = Math.round(before / reliable) + own;
      long excess = expected - Math.round(limit / margin);
      if (excess > 0 && before > 0) {
        throw refusal(excess, own, Math.round(before / reliable), left.get());
      }
    }
    long now = clock.getAsLong();
    if (requests == 0) {
      sampleBegin = now;
      sampleWork = 0;
    }
    requests++;
    work[priority.ordinal()] += own;
    boolean isTelling = expected * margin >= TELLING * limit;
    return new Place(priority, own, isTelling ? expected : 0, limit, now);
  }

  /**
   * Returns the speed that can be relied on: less than that of before where the current sample
   * falls behind it, even if all processors were about to finish what they have.
   */
  private double reliableSpeed(long own) {
    long lasted = clock.getAsLong() - sampleBegin;
    return lasted < SAMPLE_NANOS / 2
        ? speed
        : Math.min(speed, (sampleWork + (double) processors * own) / lasted);
  }

  /** Returns the refusal of a request before which others take so long. */
  private ServingException refusal(long excess, long own, long before, Duration left) {
    long now = clock.getAsLong();
    // Those that come back at one moment would be refused again: each gets a moment of its own.
    long wait = Math.min(Math.max(excess, promised - now), MOST_NANOS);
    promised = now + wait + Math.round(own / meanSpeed);
    return new ServingException(
        Failure.BUSY,
        "what waits before the request takes about %s: it has %s left"
            .formatted(Codes.text(Duration.ofNanos(before)), Codes.text(left)),
        Optional.of(Duration.ofNanos(wait)),
        null);
  }

  private synchronized void left(Place place, boolean isDone) {
    requests--;
    work[place.priority.ordinal()] -= place.own;
    long now = clock.getAsLong();
    if (isDone) {
      sampleWork += place.own;
    }
    long taken = now - place.begin;
    // Whoever was given up before its limit would have taken nobody knows how long.
    if (place.expected > 0 && (isDone || taken >= place.limit)) {
      boolean isBeyond = taken > margin * place.expected;
      margin = Math.clamp(margin * (isBeyond ? WIDER : NARROWER), LEAST_MARGIN, MOST_MARGIN);
    }
    if (requests < processors) {
      // With idle processors the speed is that of the clients.
      sampleBegin = now;
      sampleWork = 0;
    } else if (now - sampleBegin >= SAMPLE_NANOS) {
      if (sampleWork > 0) {
        double latest = (double) sampleWork / (now - sampleBegin);
        speed += (latest < speed ? FALLING : RISING) * (latest - speed);
        meanSpeed += LATEST_PART * (latest - meanSpeed);
      }
      sampleBegin = now;
      sampleWork = 0;
    }
  }
}
