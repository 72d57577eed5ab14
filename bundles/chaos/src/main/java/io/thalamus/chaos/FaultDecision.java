// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.hal.ExecutionResult.Failed;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The faults of one execution. Used by its thread.
 *
 * @param failure that it ends with at once, or null
 * @param flips of bits of its outputs
 */
record FaultDecision(Failed failure, List<Flip> flips) {
  /** No fault. */
  static final FaultDecision NONE = new FaultDecision(null, List.of());

  static FaultDecision failing(Failed failure) {
    return new FaultDecision(failure, List.of());
  }

  /** A number of bits, at places that follow from the random numbers. */
  record Flip(int bits, SplittableRandom places) {}
}
