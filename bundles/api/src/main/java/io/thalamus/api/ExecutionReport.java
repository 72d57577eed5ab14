// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.OutputShape;
import io.thalamus.model.Timing;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * How an execution ended, and what ran where. Immutable.
 *
 * @param code NO_ERROR, or what went wrong
 * @param message what went wrong, for people; empty where nothing did
 * @param outputs one for each output with NO_ERROR and OUTPUT_INSUFFICIENT_SIZE, else empty
 * @param timing as far as it was asked for and measured
 * @param steps what ran where, in order, failed attempts included
 */
public record ExecutionReport(
    ResultCode code,
    String message,
    List<OutputShape> outputs,
    Timing timing,
    List<StepReport> steps) {
  public ExecutionReport {
    Objects.requireNonNull(code, "code");
    Objects.requireNonNull(message, "message");
    Objects.requireNonNull(timing, "timing");
    outputs = List.copyOf(outputs);
    steps = List.copyOf(steps);
  }

  /** A report of a failure before anything ran. */
  public static ExecutionReport failed(ResultCode code, String message) {
    return new ExecutionReport(code, message, List.of(), Timing.NONE, List.of());
  }

  /** Whether the outputs are written. */
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
      throw new NeuralNetworksException(code, message);
    }
    return this;
  }

  /**
   * One step of a plan as it ran.
   *
   * @param device id of the device, or {@code interpreter} for control flow
   * @param operations how many operations it executed
   * @param duration how long it took
   * @param code NO_ERROR, or why it was given up
   */
  public record StepReport(String device, int operations, Duration duration, ResultCode code) {
    public StepReport {
      Objects.requireNonNull(device, "device");
      Objects.requireNonNull(duration, "duration");
      Objects.requireNonNull(code, "code");
    }
  }
}
