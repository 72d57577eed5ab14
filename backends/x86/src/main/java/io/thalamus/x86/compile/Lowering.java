// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Operation;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.ElementFunction;
import io.thalamus.x86.kernel.Mapped.Kind;
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

    /** Returns the function that each result becomes before it is stored; empty for none. */
    default Optional<Kind> function() {
      return Optional.empty();
    }
  }

  /**
   * Returns true if the result is the first input with other dimensions, and there are no calls.
   */
  default boolean isAlias() {
    return false;
  }

  /** Returns true if each result of the operation may become a function of it: {@link Fusion}. */
  default boolean takesFunction(ResolvedOperation operation) {
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
