// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.model.Operation;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.ResolvedOperation;
import java.util.List;
import java.util.OptionalInt;

/**
 * One operation of the graph with what has been fused into it. Immutable.
 *
 * @param index of the operation in the graph
 * @param operation with shapes and parameters
 * @param inputs by input, the operand of the graph
 * @param outputs the operands that it writes, in the end
 * @param lowering what makes a step of it
 * @param added an operand of the output's shape that is added before the activation
 * @param activation what is applied to float results in the end
 */
public record Node(
    int index,
    ResolvedOperation operation,
    List<Integer> inputs,
    List<Integer> outputs,
    Lowering lowering,
    OptionalInt added,
    FusedActivation activation) {
  public Node {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** Returns the first operand that it writes. */
  int output() {
    return outputs.get(0);
  }

  static Node of(int index, Operation declared, ResolvedOperation operation, Lowering lowering) {
    return new Node(
        index,
        operation,
        declared.inputs(),
        declared.outputs(),
        lowering,
        OptionalInt.empty(),
        lowering.activation(operation));
  }

  /** The node followed by an activation into another operand. */
  Node then(FusedActivation next, int result) {
    return new Node(index, operation, inputs, List.of(result), lowering, added, next);
  }

  /** The node with an operand added to it, and then an activation, into another operand. */
  Node plus(int other, FusedActivation next, int result) {
    return new Node(
        index, operation, inputs, List.of(result), lowering, OptionalInt.of(other), next);
  }

  /** Returns true if nothing has been fused into it that another addition would come after. */
  boolean takesAddition() {
    return lowering.takesAddition(operation)
        && added.isEmpty()
        && activation == FusedActivation.NONE;
  }

  /** Returns true if its result can be clamped by the activation that follows. */
  boolean takesActivation() {
    return lowering.takesActivation(operation) && activation == FusedActivation.NONE;
  }
}
