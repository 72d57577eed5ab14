// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.OperandView;

/** The sizes of tensors whose distances fit the displacements of instructions. Stateless. */
final class Sizes {
  /** Elements of a tensor. */
  static final long MOST_FLOATS = 1L << 27;

  private Sizes() {}

  static boolean isPossible(OperandView operand) {
    return operand.type().isTensor()
        && operand.isShapeKnown()
        && operand.shape().elementCount() > 0
        && operand.shape().elementCount() < MOST_FLOATS;
  }
}
