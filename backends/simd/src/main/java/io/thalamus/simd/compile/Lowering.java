// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;
import java.util.function.Function;

/**
 * Makes the step of an operation, once the places of its tensors are known; says beforehand what
 * the compiler must know of it. Stateless and thread-safe.
 */
@FunctionalInterface
public interface Lowering {
  /**
   * The step.
   *
   * @param node the operation with what has been fused into it
   * @param tensors the places
   * @param budget how the work may be divided
   */
  Step lower(Node node, Tensors tensors, Budget budget);

  /**
   * Returns true if the result is the first input with other dimensions, and there is no step at
   * all.
   */
  default boolean isAlias() {
    return false;
  }

  /** Returns true if an input is read from the frame; constants that are packed are not. */
  default boolean reads(ResolvedOperation operation, int input) {
    return operation.view().has(input) && Tensors.isStored(operation.view().input(input).type());
  }

  /** The activation that is part of the operation itself, for float results. */
  default FusedActivation activation(ResolvedOperation operation) {
    return FusedActivation.NONE;
  }

  /** Returns true if a tensor of the result's shape can be added within the step. */
  default boolean takesAddition(ResolvedOperation operation) {
    return false;
  }

  /** Returns true if results can be clamped within the step. */
  default boolean takesActivation(ResolvedOperation operation) {
    return false;
  }

  /** One whose step reads the first input only: the others are parameters, or packed. */
  @FunctionalInterface
  interface OfFirst extends Lowering {
    @Override
    default boolean reads(ResolvedOperation operation, int input) {
      return input == 0;
    }
  }

  /**
   * One of floats whose step clamps its results.
   *
   * @param own the activation that is part of an operation itself
   */
  record Clamped(Lowering lowering, Function<ResolvedOperation, FusedActivation> own)
      implements Lowering {
    @Override
    public Step lower(Node node, Tensors tensors, Budget budget) {
      return lowering.lower(node, tensors, budget);
    }

    @Override
    public FusedActivation activation(ResolvedOperation operation) {
      return own.apply(operation);
    }

    @Override
    public boolean takesActivation(ResolvedOperation operation) {
      return true;
    }
  }
}
