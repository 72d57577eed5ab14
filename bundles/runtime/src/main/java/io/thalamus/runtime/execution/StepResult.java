// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ResultCode;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.runtime.call.StatusMapping;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.List;

/**
 * The result of a step, or of several in a row. Immutable.
 *
 * @param code NO_ERROR, or what went wrong
 * @param message what went wrong, for people
 * @param outputs of the main graph, with OUTPUT_INSUFFICIENT_SIZE
 * @param isFinal whether repeating it elsewhere is pointless
 * @param fault what the device that failed can be blamed for; NONE when it did nothing wrong
 */
record StepResult(
    ResultCode code,
    String message,
    List<OutputShape> outputs,
    boolean isFinal,
    ErrorStatus fault) {
  static final StepResult DONE =
      new StepResult(ResultCode.NO_ERROR, "", List.of(), true, ErrorStatus.NONE);

  /** Returns a failure that another device may not have, unless it is one of time or room. */
  static StepResult failed(ResultCode code, String message) {
    return new StepResult(
        code, message, List.of(), StatusMapping.isMissedDeadline(code), ErrorStatus.NONE);
  }

  /** Returns a failure that every device would have. */
  static StepResult failedForGood(ResultCode code, String message) {
    return new StepResult(code, message, List.of(), true, ErrorStatus.NONE);
  }

  /** Returns the need for larger buffers, which every device would have. */
  static StepResult insufficient(String message, List<OutputShape> outputs) {
    return new StepResult(
        ResultCode.OUTPUT_INSUFFICIENT_SIZE, message, outputs, true, ErrorStatus.NONE);
  }

  /** Returns the same failure, for which its device can be blamed. */
  StepResult withFault(ErrorStatus value) {
    return new StepResult(code, message, outputs, isFinal, value);
  }

  /** Returns whether the outputs are written. */
  boolean isDone() {
    return code == ResultCode.NO_ERROR;
  }

  /** Reports the fault, if there is one, to the health of the device that failed. */
  void blame(RegisteredDevice device) {
    if (fault != ErrorStatus.NONE) {
      device.monitor().failed(fault, message);
    }
  }
}
