// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

import io.thalamus.hal.ExecutionResult.Failed;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What is done to one execution. Used by its thread.
 *
 * @param failure what it ends with at once, or null
 * @param flips what happens to its outputs
 */
record Strike(Failed failure, List<Flip> flips) {
  /** Spared. */
  static final Strike NONE = new Strike(null, List.of());

  static Strike failing(Failed failure) {
    return new Strike(failure, List.of());
  }

  /** So many bits, at places that follow from the numbers. */
  record Flip(int bits, SplittableRandom places) {}
}
