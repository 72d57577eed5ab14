// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionResult;

/**
 * How a call of a device ended for its caller.
 *
 * @param result what the device answered, or what stands for an answer
 * @param isAbandoned whether the device still works, and may still write to the memories of the
 *     request: they must not be used for anything else
 */
public record CallOutcome(ExecutionResult result, boolean isAbandoned) {
  static CallOutcome of(ExecutionResult result) {
    return new CallOutcome(result, false);
  }
}
