// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

/** A property of an operation that matters to callers who do not compute it. */
public enum Trait {
  /**
   * Each element of the only output depends on one element of each tensor that the operation reads,
   * at the same place once the tensors are broadcast to the output's shape.
   */
  ELEMENTWISE,

  /** Each element of the outputs is an element of an input, or one value that fills gaps. */
  DATA_MOVEMENT,

  /**
   * A rounding error in an input may turn into quite another result, as before an ARGMAX. Results
   * of two devices that round differently do not say whether both are right.
   */
  DISCONTINUOUS,

  /** Two devices, or two versions of one, may draw different numbers from the same seed. */
  RANDOM
}
