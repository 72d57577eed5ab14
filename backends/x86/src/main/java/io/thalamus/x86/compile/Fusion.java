// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.ElementFunction;
import io.thalamus.x86.kernel.Finish;
import io.thalamus.x86.kernel.Mapped.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;

/**
 * Operations on single elements that cost no pass over memory of their own: functions of a layer's
 * results that nobody else reads are applied before these are stored, and others are done by {@link
 * Chains}. Each result has the bits that it would have without. Used once.
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

  private final Uses uses;

  /**
   * The fate of an operation.
   *
   * @param isSwallowed whether others do its work
   * @param result the operand that is written instead of its own; -1 for that
   * @param addend the operand that is added to what it computes, and in whose place the result is;
   *     -1 for none
   * @param finish what becomes of what it computes instead of its own activation
   * @param chain the operations of a pass over memory that ends with it; none where it is alone
   */
  record Step(
      boolean isSwallowed, int result, int addend, Optional<Finish> finish, List<Integer> chain) {
    static final Step PLAIN = new Step(false, -1, -1, Optional.empty(), List.of());
    static final Step SWALLOWED = new Step(true, -1, -1, Optional.empty(), List.of());

    static Step of(int result, int addend, Finish finish) {
      return new Step(false, result, addend, Optional.of(finish), List.of());
    }
  }

  private Fusion(StaticGraph graph) {
    this.graph = graph;
    steps = new Step[graph.operations().size()];
    Arrays.fill(steps, Step.PLAIN);
    uses = new Uses(graph.graph());
  }

  /**
   * Returns what becomes of each operation.
   *
   * @param lowerings by operation
   */
  static Step[] of(StaticGraph graph, List<Lowering> lowerings) {
    Fusion fusion = new Fusion(graph);
    IntPredicate takesFinish = i -> lowerings.get(i).takesFinish(graph.operations().get(i));
    for (int i = 0; i < fusion.steps.length; i++) {
      fusion.fuse(i, takesFinish);
    }
    fusion.chain(i -> lowerings.get(i).element(graph.operations().get(i)));
    for (int i = 0; i < fusion.steps.length; i++) {
      fusion.add(i, takesFinish, operation -> lowerings.get(operation).isAlias());
    }
    return fusion.steps;
  }

  private void chain(IntFunction<Optional<ElementFunction>> elements) {
    List<Optional<ElementFunction>> free = new ArrayList<>(steps.length);
    for (int i = 0; i < steps.length; i++) {
      free.add(steps[i].equals(Step.PLAIN) ? elements.apply(i) : Optional.empty());
    }
    Chains chains = new Chains(graph, free::get, uses);
    for (int i = steps.length - 1; i >= 0; i--) {
      List<Integer> chain = free.get(i).isPresent() ? chains.endingWith(i) : List.of();
      if (chain.size() > 1) {
        chain.forEach(
            member -> {
              steps[member] = Step.SWALLOWED;
              free.set(member, Optional.empty());
            });
        steps[i] = new Step(false, -1, -1, Optional.empty(), chain);
      }
    }
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
    int writer = uses.writer(argument);
    if (writer >= 0
        && uses.readers(argument).size() == (product < 0 ? 1 : 2)
        && isFloat(argument)
        && steps[writer].equals(Step.PLAIN)
        && takesFunction.test(writer)) {
      steps[index] = Step.SWALLOWED;
      steps[last] = Step.SWALLOWED;
      steps[writer] = Step.of(result, -1, new Finish(false, FusedActivation.NONE, function));
    }
  }

  /**
   * Has a layer add something to its results, if the operation does that and no more. The sum is
   * put where the other number stands, which nobody reads afterwards.
   */
  private void add(int index, IntPredicate takesFinish, IntPredicate isAlias) {
    Operation operation = graph.graph().operations().get(index);
    if (operation.type() != OperationCode.ADD
        || !steps[index].equals(Step.PLAIN)
        || !(graph.operations().get(index).parameters() instanceof Plain plain)) {
      return;
    }
    int result = operation.outputs().getFirst();
    for (int side = 0; side < 2; side++) {
      int computed = operation.inputs().get(side);
      int addend = operation.inputs().get(1 - side);
      int layer = uses.writer(computed);
      if (layer >= 0
          && isFloat(result)
          && uses.readers(computed).size() == 1
          && steps[layer].equals(Step.PLAIN)
          && takesFinish.test(layer)
          && graph.shapes().get(computed).equals(graph.shapes().get(result))
          && graph.shapes().get(addend).equals(graph.shapes().get(result))
          && isReplaceable(addend, layer, index, isAlias)) {
        steps[index] = Step.SWALLOWED;
        steps[layer] =
            Step.of(result, addend, new Finish(true, plain.activation(), Optional.empty()));
        return;
      }
    }
  }

  /**
   * Returns true if a layer may write over a number that only one later operation reads.
   *
   * @param last the operation that reads it after the layer
   */
  private boolean isReplaceable(int operand, int layer, int last, IntPredicate isAlias) {
    int writer = uses.writer(operand);
    return writer >= 0
        && writer < layer
        && !isAlias.test(writer)
        && uses.readers(operand).stream()
            .allMatch(
                reader ->
                    reader == last
                        || reader != Uses.CALLER && !isAlias.test(reader) && at(reader) < layer);
  }

  /** Returns the operation in whose turn another is done. */
  private int at(int operation) {
    for (int i = operation + 1; i < steps.length; i++) {
      if (steps[i].chain().contains(operation)) {
        return i;
      }
    }
    return operation;
  }

  /** Returns the operation that alone reads a number's function, to multiply both; -1 for none. */
  private int product(int number, int function) {
    List<Integer> readers = uses.readers(function);
    if (readers.size() > 1 || readers.contains(Uses.CALLER)) {
      return -1;
    }
    for (int reader : readers) {
      Operation operation = graph.graph().operations().get(reader);
      ResolvedOperation resolved = graph.operations().get(reader);
      if (operation.type() == OperationCode.MUL
          && operation.inputs().contains(number)
          && resolved.parameters() instanceof Plain plain
          && plain.activation() == FusedActivation.NONE) {
        return reader;
      }
    }
    return -1;
  }

  private boolean isFloat(int operand) {
    return graph.graph().operands().get(operand).type() == OperandCode.TENSOR_FLOAT32;
  }
}
