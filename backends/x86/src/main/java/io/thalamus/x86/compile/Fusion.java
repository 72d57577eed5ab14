// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.Mapped.Kind;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntPredicate;

/**
 * Functions of single floats that cost no pass over memory of their own: those of a layer's results
 * that nobody else reads are applied before these are stored, and LOGISTIC and the product with its
 * argument are one function. Each result has the bits that it would have without. Used once.
 */
final class Fusion {
  private static final Map<OperationCode, Kind> FUNCTIONS =
      Map.of(
          OperationCode.LOGISTIC, Kind.LOGISTIC,
          OperationCode.TANH, Kind.TANH,
          OperationCode.HARD_SWISH, Kind.HARD_SWISH);

  private final StaticGraph graph;

  /** By operation, what becomes of it. */
  private final Step[] steps;

  /** By operand, the operation that writes it; -1 for inputs and constants. */
  private final int[] writers;

  private final int[] readers;

  /**
   * The fate of an operation.
   *
   * @param isSwallowed whether others do its work
   * @param result the operand that is written instead of its own; -1 for that
   * @param function that is applied to what it computes
   * @param argument the operand that the function is applied to instead; -1 for none
   */
  record Step(boolean isSwallowed, int result, Optional<Kind> function, int argument) {
    static final Step PLAIN = new Step(false, -1, Optional.empty(), -1);
    static final Step SWALLOWED = new Step(true, -1, Optional.empty(), -1);
  }

  private Fusion(StaticGraph graph) {
    this.graph = graph;
    steps = new Step[graph.operations().size()];
    Arrays.fill(steps, Step.PLAIN);
    writers = new int[graph.shapes().size()];
    readers = new int[graph.shapes().size()];
    Arrays.fill(writers, -1);
    for (int i = 0; i < steps.length; i++) {
      Operation operation = graph.graph().operations().get(i);
      for (int output : operation.outputs()) {
        writers[output] = i;
      }
      operation.inputs().forEach(input -> readers[input]++);
    }
    graph.graph().outputIndexes().forEach(output -> readers[output]++);
  }

  /**
   * Returns what becomes of each operation.
   *
   * @param takesFunction whether an operation applies functions to its results
   */
  static Step[] of(StaticGraph graph, IntPredicate takesFunction) {
    Fusion fusion = new Fusion(graph);
    for (int i = 0; i < fusion.steps.length; i++) {
      fusion.fuse(i, takesFunction);
    }
    return fusion.steps;
  }

  private void fuse(int index, IntPredicate takesFunction) {
    Operation operation = graph.graph().operations().get(index);
    Kind kind = operation.type() instanceof OperationCode code ? FUNCTIONS.get(code) : null;
    if (kind == null || !isFloat(operation.outputs().getFirst())) {
      return;
    }
    int argument = operation.inputs().getFirst();
    int product = kind == Kind.LOGISTIC ? product(argument, operation.outputs().getFirst()) : -1;
    int last = product < 0 ? index : product;
    int result = graph.graph().operations().get(last).outputs().getFirst();
    Optional<Kind> function = Optional.of(product < 0 ? kind : Kind.SWISH);
    int writer = writers[argument];
    if (writer >= 0
        && readers[argument] == (product < 0 ? 1 : 2)
        && isFloat(argument)
        && steps[writer].equals(Step.PLAIN)
        && takesFunction.test(writer)) {
      steps[index] = Step.SWALLOWED;
      steps[last] = Step.SWALLOWED;
      steps[writer] = new Step(false, result, function, -1);
    } else if (product >= 0) {
      steps[index] = Step.SWALLOWED;
      steps[last] = new Step(false, result, function, argument);
    }
  }

  /** Returns the operation that alone reads a number's function, to multiply both; -1 for none. */
  private int product(int number, int function) {
    for (int i = 0; readers[function] == 1 && i < steps.length; i++) {
      Operation operation = graph.graph().operations().get(i);
      if (operation.inputs().contains(function)) {
        ResolvedOperation resolved = graph.operations().get(i);
        return operation.type() == OperationCode.MUL
                && operation.inputs().contains(number)
                && resolved.parameters() instanceof Plain plain
                && plain.activation() == FusedActivation.NONE
            ? i
            : -1;
      }
    }
    return -1;
  }

  private boolean isFloat(int operand) {
    return graph.graph().operands().get(operand).type() == OperandCode.TENSOR_FLOAT32;
  }
}
