// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.Deadline;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * The settings of one execution. Immutable.
 *
 * @param deadline before which the execution must be done
 * @param loopTimeout after which a WHILE that still loops is stopped
 * @param duration for fenced executions: the time allowed from the moment all fences signalled
 * @param measureTiming whether the result carries its timing
 * @param control what the device asks at checkpoints
 */
public record ExecutionConfig(
    Deadline deadline,
    Duration loopTimeout,
    Optional<Duration> duration,
    boolean measureTiming,
    ExecutionControl control) {
  /** NNAPI's LoopTimeoutDurationNs.DEFAULT. */
  public static final Duration DEFAULT_LOOP_TIMEOUT = Duration.ofSeconds(2);

  /** NNAPI's LoopTimeoutDurationNs.MAXIMUM; a longer timeout is shortened to it. */
  public static final Duration MAXIMUM_LOOP_TIMEOUT = Duration.ofSeconds(15);

  /** Everything as usual: no deadline, the usual loop timeout, nothing measured. */
  public static final ExecutionConfig DEFAULT =
      new ExecutionConfig(
          Deadline.NONE, DEFAULT_LOOP_TIMEOUT, Optional.empty(), false, ExecutionControl.NONE);

  public ExecutionConfig {
    Objects.requireNonNull(deadline, "deadline");
    Objects.requireNonNull(duration, "duration");
    Objects.requireNonNull(control, "control");
    if (loopTimeout.compareTo(MAXIMUM_LOOP_TIMEOUT) > 0) {
      loopTimeout = MAXIMUM_LOOP_TIMEOUT;
    }
  }

  /**
   * Returns whether a WHILE has looped for longer than the timeout: then it ends with
   * MISSED_DEADLINE_TRANSIENT. Asked each time that its condition was true, before its body runs.
   *
   * @param startNanos when the loop began, by {@link #nanoTime()}
   */
  public boolean isLoopOverdue(long startNanos) {
    return nanoTime() - startNanos > loopTimeout.toNanos();
  }

  /** Returns the time by the clock of the deadline, which all of the execution goes by. */
  public long nanoTime() {
    return deadline.clock().nanoTime();
  }

  /**
   * Returns the settings of a fenced execution whose fences have signalled now: its duration
   * begins.
   */
  public ExecutionConfig fromNowOn() {
    return duration.isEmpty()
        ? this
        // By the clock of the deadline, as all of the execution.
        : with(Deadline.after(duration.get(), deadline.clock()).earlier(deadline));
  }

  public ExecutionConfig with(Deadline value) {
    return new ExecutionConfig(value, loopTimeout, duration, measureTiming, control);
  }

  public ExecutionConfig withLoopTimeout(Duration value) {
    return new ExecutionConfig(deadline, value, duration, measureTiming, control);
  }

  public ExecutionConfig withDuration(Duration value) {
    return new ExecutionConfig(deadline, loopTimeout, Optional.of(value), measureTiming, control);
  }

  public ExecutionConfig withMeasureTiming(boolean value) {
    return new ExecutionConfig(deadline, loopTimeout, duration, value, control);
  }

  public ExecutionConfig with(ExecutionControl value) {
    return new ExecutionConfig(deadline, loopTimeout, duration, measureTiming, value);
  }
}
