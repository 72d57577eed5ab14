// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.Failure;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ModelStatistics.Total;
import io.thalamus.serving.RequestTimes;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;

/** The counters of a version since it was loaded first. Thread-safe. */
final class Counters {
  /** The latest one is this part of what is usual. */
  private static final int LATEST = 16;

  private final LongAdder arrived = new LongAdder();
  private final LongAdder executions = new LongAdder();
  private final Adder success = new Adder();
  private final Adder fail = new Adder();
  private final Adder cancelled = new Adder();
  private final Adder queue = new Adder();
  private final Adder input = new Adder();
  private final Adder infer = new Adder();
  private final Adder output = new Adder();
  private volatile long lastMillis;

  /** The usual nanoseconds of an execution; 0 before the first one. */
  private volatile long usualNanos;

  /** The nanoseconds that half of the executions take at most; 0 before the first one. */
  private volatile long medianNanos;

  private static final class Adder {
    final LongAdder count = new LongAdder();
    final LongAdder nanos = new LongAdder();

    void add(long duration) {
      count.increment();
      nanos.add(duration);
    }

    Total total() {
      return new Total(count.sum(), nanos.sum());
    }
  }

  void arrived() {
    arrived.increment();
    lastMillis = System.currentTimeMillis();
  }

  /**
   * Counts the end of a request.
   *
   * @param failure empty after an answer
   */
  void ended(Optional<Failure> failure, int started, RequestTimes times) {
    executions.add(started);
    if (failure.isPresent()) {
      (failure.get() == Failure.CANCELLED ? cancelled : fail).add(times.total());
    } else {
      success.add(times.total());
      queue.add(times.queue());
      input.add(times.computeInput());
      infer.add(times.computeInfer());
      output.add(times.computeOutput());
      long before = usualNanos;
      long latest = times.computeInfer();
      // Of several at once one is lost, which an average can do without.
      usualNanos = before == 0 ? latest : before + (latest - before) / LATEST;
      long middle = medianNanos;
      long step = middle / LATEST;
      medianNanos = middle == 0 ? latest : middle + (latest > middle ? step : -step);
    }
  }

  /** Returns the usual nanoseconds of an execution; 0 if nobody knows. */
  long usualNanos() {
    return usualNanos;
  }

  /**
   * Returns the nanoseconds that half of the executions take at most, which those that other
   * programs held up do not change; 0 if nobody knows.
   */
  long medianNanos() {
    return medianNanos;
  }

  ModelStatistics statistics(String name, String version) {
    // The ended first: one that ends meanwhile is pending, and never less than nothing is.
    Total answered = success.total();
    Total failed = fail.total();
    Total given = cancelled.total();
    long pending = arrived.sum() - answered.count() - failed.count() - given.count();
    return new ModelStatistics(
        name,
        version,
        lastMillis,
        answered.count(),
        executions.sum(),
        pending,
        answered,
        failed,
        given,
        queue.total(),
        input.total(),
        infer.total(),
        output.total());
  }
}
