// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;

/**
 * How a call of a device ended for its caller.
 *
 * @param result what the device answered, or what stands for an answer
 * @param isAnswered whether the device itself answered
 * @param isAbandoned whether the device still works, and may still write to the memories of the
 *     request: they must not be used for anything else
 */
public record CallOutcome(ExecutionResult result, boolean isAnswered, boolean isAbandoned) {
  static CallOutcome answered(ExecutionResult result) {
    return new CallOutcome(result, true, false);
  }

  /** The device was not called. */
  static CallOutcome refused(ErrorStatus status, String reason) {
    return new CallOutcome(new Failed(status, reason), false, false);
  }

  /** The device did not answer. */
  static CallOutcome abandoned(ErrorStatus status, String reason) {
    return new CallOutcome(new Failed(status, reason), false, true);
  }
}
