// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.OutputShape;
import io.thalamus.model.Timing;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The end of an execution, and the devices of its steps. Immutable.
 *
 * @param code NO_ERROR, or what went wrong
 * @param message what went wrong, for people; empty where nothing did
 * @param outputs one for each output with NO_ERROR and OUTPUT_INSUFFICIENT_SIZE, else empty
 * @param timing as far as it was asked for and measured: NNAPI's ON_HARDWARE and IN_DRIVER. Those
 *     of the whole execution from its fences on are the same: it waits for its dependencies before
 *     any device is given it
 * @param steps what ran where, in order, failed attempts included
 * @param copied how much was copied, failed attempts included
 * @param retryAfter with a failure, the time after which the same execution may succeed, as it is
 *     estimated from measured times; empty where there is no estimate, or a later try is pointless
 */
public record ExecutionReport(
    ResultCode code,
    String message,
    List<OutputShape> outputs,
    Timing timing,
    List<StepReport> steps,
    CopiedBytes copied,
    Optional<Duration> retryAfter) {
  public ExecutionReport {
    Objects.requireNonNull(code, "code");
    Objects.requireNonNull(message, "message");
    Objects.requireNonNull(timing, "timing");
    Objects.requireNonNull(copied, "copied");
    Objects.requireNonNull(retryAfter, "retryAfter");
    outputs = List.copyOf(outputs);
    steps = List.copyOf(steps);
  }

  /** A report without an estimate of when the same execution may succeed. */
  public ExecutionReport(
      ResultCode code,
      String message,
      List<OutputShape> outputs,
      Timing timing,
      List<StepReport> steps,
      CopiedBytes copied) {
    this(code, message, outputs, timing, steps, copied, Optional.empty());
  }

  /** A report of an execution that copied nothing. */
  public ExecutionReport(
      ResultCode code,
      String message,
      List<OutputShape> outputs,
      Timing timing,
      List<StepReport> steps) {
    this(code, message, outputs, timing, steps, CopiedBytes.NONE);
  }

  /** A report of a failure before anything ran. */
  public static ExecutionReport failed(ResultCode code, String message) {
    return new ExecutionReport(code, message, List.of(), Timing.NONE, List.of());
  }

  /**
   * A report of a failure before anything ran.
   *
   * @param retryAfter the time after which the same execution may succeed, where it is estimated
   */
  public static ExecutionReport failed(
      ResultCode code, String message, Optional<Duration> retryAfter) {
    return new ExecutionReport(
        code, message, List.of(), Timing.NONE, List.of(), CopiedBytes.NONE, retryAfter);
  }

  /** Returns true if the outputs are written. */
  public boolean isSuccess() {
    return code == ResultCode.NO_ERROR;
  }

  /**
   * This report where it is a success.
   *
   * @throws NeuralNetworksException with code and message where it is not
   */
  public ExecutionReport orThrow() throws NeuralNetworksException {
    if (!isSuccess()) {
      throw new NeuralNetworksException(code, message, retryAfter, null);
    }
    return this;
  }

  /**
   * The bytes that an execution copied besides computing, by cause. Immutable. Arguments that are
   * read and written in place are not copied; contents of memories that move between devices are
   * not counted.
   *
   * @param argumentsIn from the caller's segments to memory that a device can map
   * @param argumentsOut from there to the caller's segments and memories
   * @param deviceIn from arguments to memory of the devices, as far as they say so
   * @param deviceOut from memory of the devices to arguments, as far as they say so
   * @param temporaries between the steps of a plan, for IF and WHILE
   */
  public record CopiedBytes(
      long argumentsIn, long argumentsOut, long deviceIn, long deviceOut, long temporaries) {
    /** Nothing was copied. */
    public static final CopiedBytes NONE = new CopiedBytes(0, 0, 0, 0, 0);

    /** Returns the bytes of all causes. */
    public long total() {
      return argumentsIn + argumentsOut + deviceIn + deviceOut + temporaries;
    }
  }

  /**
   * One step of a plan as it ran.
   *
   * @param device id of the device, or {@code interpreter} for control flow
   * @param operations how many operations it executed
   * @param duration how long it took; of a step that takes a few microseconds, which is less than
   *     looks at the clock are worth, how long it took when it was timed last, unless {@link
   *     Execution#setMeasureSteps} was called
   * @param code NO_ERROR, or why it was given up
   * @param byBurst whether the device was sent it by a burst
   * @param fenced whether the device was given it before what it waits for was done, with a fence
   * @param durations as the device measured them; empty where it was not asked, that is where the
   *     step was not fenced and {@link Execution#setMeasureSteps} not called, or did not measure
   */
  public record StepReport(
      String device,
      int operations,
      Duration duration,
      ResultCode code,
      boolean byBurst,
      boolean fenced,
      Optional<Durations> durations) {
    public StepReport {
      Objects.requireNonNull(device, "device");
      Objects.requireNonNull(duration, "duration");
      Objects.requireNonNull(code, "code");
      Objects.requireNonNull(durations, "durations");
    }

    /** A step that the device was called for. */
    public StepReport(String device, int operations, Duration duration, ResultCode code) {
      this(device, operations, duration, code, false, false, Optional.empty());
    }
  }

  /**
   * The times of NNAPI's {@code DurationCode}, each empty where it is not known. Immutable. If a
   * loop repeats a step, they are sums.
   *
   * @param onHardware of the hardware alone, from the launch on
   * @param inDriver of the driver, hardware included, from the launch on
   * @param fencedOnHardware of the hardware alone, from the moment on at which the fences that were
   *     waited for had signalled
   * @param fencedInDriver of the driver, hardware included, from that moment on
   */
  public record Durations(
      Optional<Duration> onHardware,
      Optional<Duration> inDriver,
      Optional<Duration> fencedOnHardware,
      Optional<Duration> fencedInDriver) {
    public Durations {
      Objects.requireNonNull(onHardware, "onHardware");
      Objects.requireNonNull(inDriver, "inDriver");
      Objects.requireNonNull(fencedOnHardware, "fencedOnHardware");
      Objects.requireNonNull(fencedInDriver, "fencedInDriver");
    }
  }
}
