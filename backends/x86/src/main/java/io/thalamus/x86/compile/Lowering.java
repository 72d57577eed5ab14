// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Operation;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.ElementFunction;
import io.thalamus.x86.kernel.Finish;
import java.util.Optional;
import java.util.function.IntFunction;

/** Makes the calls of an operation. Stateless and thread-safe. */
@FunctionalInterface
public interface Lowering {
  /** Adds calls to a program. */
  void lower(ResolvedOperation operation, Operands operands, ProgramBuilder program);

  /** The operands of one operation. */
  interface Operands {
    /** Returns where an input stands. */
    Place input(int index);

    /** Returns where the result stands. */
    default Place output() {
      return output(0);
    }

    /** Returns where a result stands. */
    Place output(int index);

    /** Returns those of an operation that stand where each operand of its graph does. */
    static Operands of(Operation operation, IntFunction<Place> places) {
      return new Operands() {
        @Override
        public Place input(int index) {
          return places.apply(operation.inputs().get(index));
        }

        @Override
        public Place output(int index) {
          return places.apply(operation.outputs().get(index));
        }
      };
    }

    /** Returns what says that an input is the same constant as in another graph; empty for none. */
    default Optional<Identity> identity(int index) {
      return Optional.empty();
    }

    /**
     * Returns what sums become before they are stored.
     *
     * @param activation of the operation
     */
    default Finish finish(FusedActivation activation) {
      return Finish.of(activation);
    }

    /**
     * Returns where the results of a layer stand.
     *
     * @param bytes of the channels of a result
     */
    default Target target(int bytes) {
      return new Target(output().at(0), bytes);
    }

    /** Returns true if an input has been written where the result has it: {@link #target}. */
    default boolean isWritten(int index) {
      return false;
    }
  }

  /**
   * The place of a layer's results.
   *
   * @param at where the first one stands
   * @param step bytes from one to the next: more than it has where others stand between them
   */
  record Target(Spot at, int step) {}

  /**
   * Returns true if the result is the first input with other dimensions, and there are no calls.
   */
  default boolean isAlias() {
    return false;
  }

  /**
   * Returns true if the operation stores its results by {@link Operands#finish}, and has no
   * activation: {@link Fusion}.
   */
  default boolean takesFinish(ResolvedOperation operation) {
    return false;
  }

  /** Returns true if the results are written to {@link Operands#target}. */
  default boolean takesTarget() {
    return false;
  }

  /**
   * Returns the function that the results are of single elements of the first inputs; empty where
   * they are none, or computed otherwise.
   */
  default Optional<ElementFunction> element(ResolvedOperation operation) {
    return Optional.empty();
  }
}
