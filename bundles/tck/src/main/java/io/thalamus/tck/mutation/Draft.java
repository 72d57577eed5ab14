// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Priority;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** All that a device is asked to prepare, in a form that can be mutated. Used for one mutation. */
final class Draft {
  private final Example original;
  private final List<RawOperand> operands;
  private final List<RawOperation> operations;
  private final List<Integer> inputs;
  private final List<Integer> outputs;
  private int preference = ExecutionPreference.FAST_SINGLE_ANSWER.code();
  private int priority = Priority.MEDIUM.halCode();

  Draft(Example original) {
    this.original = original;
    this.operands = new ArrayList<>(original.main().operands());
    this.operations = new ArrayList<>(original.main().operations());
    this.inputs = new ArrayList<>(original.main().inputIndexes());
    this.outputs = new ArrayList<>(original.main().outputIndexes());
  }

  RawOperand operand(int index) {
    return operands.get(index);
  }

  RawOperation operation(int index) {
    return operations.get(index);
  }

  int operandCount() {
    return operands.size();
  }

  void change(int operand, UnaryOperator<RawOperand> edit) {
    operands.set(operand, edit.apply(operands.get(operand)));
  }

  void changeOperation(int operation, UnaryOperator<RawOperation> edit) {
    operations.set(operation, edit.apply(operations.get(operation)));
  }

  /** Adds an operand and returns its index. */
  int add(RawOperand operand) {
    operands.add(operand);
    return operands.size() - 1;
  }

  /** The indexes of the graph's inputs, to be edited. */
  List<Integer> inputs() {
    return inputs;
  }

  /** The indexes of the graph's outputs, to be edited. */
  List<Integer> outputs() {
    return outputs;
  }

  /** The operations in their order, to be edited. */
  List<RawOperation> operations() {
    return operations;
  }

  /** Counts one consumer more or less. */
  void addConsumers(int operand, int more) {
    change(operand, o -> o.withConsumers(o.consumers() + more));
  }

  /** Takes an operand out of the list; indexes are the caller's business. */
  void drop(int operand) {
    operands.remove(operand);
  }

  void setPreference(int value) {
    preference = value;
  }

  void setPriority(int value) {
    priority = value;
  }

  /**
   * Returns what is asked now. Its data is left out: a fault must be found in the model, not in
   * values that no longer fit it.
   */
  RawPreparation finish() {
    RawSubgraph main = new RawSubgraph(operands, operations, inputs, outputs);
    List<Example.Input> noData =
        inputs.stream().map(index -> new Example.Input(index, Values.NONE)).toList();
    Example mutated = original.withMain(main).withData(noData, List.of()).withExpectFailure(true);
    return new RawPreparation(mutated, preference, priority);
  }
}
