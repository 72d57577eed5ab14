// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ResultCode;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.StatusMapping;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The result of a step, or of several in a row. Immutable.
 *
 * @param code NO_ERROR, or what went wrong
 * @param message what went wrong, for people
 * @param outputs of the main graph, with OUTPUT_INSUFFICIENT_SIZE
 * @param isFinal whether repeating it elsewhere is pointless
 * @param fault what the device that failed can be blamed for; NONE when it did nothing wrong
 * @param retryAfter the time after which the same may succeed, where it is estimated
 */
record StepResult(
    ResultCode code,
    String message,
    List<OutputShape> outputs,
    boolean isFinal,
    ErrorStatus fault,
    Optional<Duration> retryAfter) {
  static final StepResult DONE = of(ResultCode.NO_ERROR, "", List.of(), true);

  private static StepResult of(
      ResultCode code, String message, List<OutputShape> outputs, boolean isFinal) {
    return new StepResult(code, message, outputs, isFinal, ErrorStatus.NONE, Optional.empty());
  }

  /** Returns a failure that another device may not have, unless it is one of time or room. */
  static StepResult failed(ResultCode code, String message) {
    return of(code, message, List.of(), StatusMapping.isMissedDeadline(code));
  }

  /** Returns a failure that every device would have. */
  static StepResult failedForGood(ResultCode code, String message) {
    return of(code, message, List.of(), true);
  }

  /** Returns the need for larger buffers, which every device would have. */
  static StepResult insufficient(String message, List<OutputShape> outputs) {
    return of(ResultCode.OUTPUT_INSUFFICIENT_SIZE, message, outputs, true);
  }

  /** Returns the same failure, for which its device can be blamed. */
  StepResult withFault(ErrorStatus value) {
    return new StepResult(code, message, outputs, isFinal, value, retryAfter);
  }

  /** Returns the same failure, with an estimate of when the same may succeed. */
  StepResult withRetryAfter(Optional<Duration> value) {
    return new StepResult(code, message, outputs, isFinal, fault, value);
  }

  /** Returns the failure of an execution that must not go on for a cause of the runtime's own. */
  static StepResult failed(Cause cause) {
    return of(cause.code(), cause.message(), List.of(), true);
  }

  /** Returns the same failure, which is not repeated elsewhere. */
  StepResult forGood() {
    return new StepResult(code, message, outputs, true, fault, retryAfter);
  }

  /** Returns whether the outputs are written. */
  boolean isDone() {
    return code == ResultCode.NO_ERROR;
  }

  /** Reports the fault, if there is one, to the health of the device that failed. */
  void blame(RegisteredDevice device) {
    if (fault != ErrorStatus.NONE) {
      device.monitor().failed(fault, "execute: " + message);
    }
  }
}
