// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * One operation together with its operands. Immutable.
 *
 * @param type what is computed
 * @param inputs in the order of the signature
 * @param outputs in the order of the signature
 */
public record OperationView(
    OperationType type, List<OperandView> inputs, List<OperandView> outputs) {
  public OperationView {
    Objects.requireNonNull(type, "type");
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** The operation as a graph of this model describes it. */
  public static OperationView of(Model model, Subgraph graph, Operation operation) {
    return of(graph, operation, model.referenced());
  }

  /** The operation as a graph describes it, which refers to these graphs. */
  static OperationView of(Subgraph graph, Operation operation, List<Subgraph> referenced) {
    List<Operand> operands = graph.operands();
    List<OperandView> inputs = new ArrayList<>(operation.inputs().size());
    for (int index : operation.inputs()) {
      inputs.add(OperandView.of(operands.get(index), referenced));
    }
    List<OperandView> outputs = new ArrayList<>(operation.outputs().size());
    for (int index : operation.outputs()) {
      outputs.add(OperandView.of(operands.get(index)));
    }
    return new OperationView(operation.type(), inputs, outputs);
  }

  /** An operation on operands of a graph that is being built. */
  public static OperationView of(
      SubgraphBuilder graph, OperationType type, List<Integer> inputs, List<Integer> outputs) {
    return new OperationView(type, views(graph, inputs), views(graph, outputs));
  }

  private static List<OperandView> views(SubgraphBuilder graph, List<Integer> operands) {
    List<OperandView> views = new ArrayList<>(operands.size());
    for (int operand : operands) {
      views.add(OperandView.of(graph.get(operand)));
    }
    return views;
  }

  /** The input at an index that exists. */
  public OperandView input(int index) {
    return inputs.get(index);
  }

  /** The output at an index that exists. */
  public OperandView output(int index) {
    return outputs.get(index);
  }

  /** The output where the operation has only one. */
  public OperandView output() {
    return outputs.get(0);
  }

  /** Returns whether there is an input at this index that is not left out. */
  public boolean has(int index) {
    return index < inputs.size() && !inputs.get(index).isOmitted();
  }

  /** Returns whether all inputs from this index on have values. */
  public boolean hasValues(int first) {
    for (int i = first; i < inputs.size(); i++) {
      if (inputs.get(i).value().isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether all inputs from this index on that are not left out have values. */
  public boolean hasValuesWhereGiven(int first) {
    for (int i = first; i < inputs.size(); i++) {
      if (has(i) && inputs.get(i).value().isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether all inputs but those at some indexes have values, or are left out. */
  public boolean hasValuesExcept(Set<Integer> data) {
    return IntStream.range(0, inputs.size())
        .allMatch(i -> data.contains(i) || !has(i) || input(i).value().isPresent());
  }

  /** The BOOL at this index, or the default where the arguments end before. */
  public boolean bool(int index, boolean defaultValue) {
    return has(index) ? input(index).bool() : defaultValue;
  }

  /** The INT32 at this index, or the default where the arguments end before. */
  public int int32(int index, int defaultValue) {
    return has(index) ? input(index).int32() : defaultValue;
  }

  /** Returns whether the input at this index is a constant INT32 of this value. */
  boolean isInt32(int index, int value) {
    OperandView operand = input(index);
    return operand.type() == OperandCode.INT32
        && operand.value().isPresent()
        && operand.int32() == value;
  }

  /** The operation with its first inputs only. */
  OperationView withInputs(int count) {
    return new OperationView(type, inputs.subList(0, count), outputs);
  }

  /** The operation with these output shapes. */
  public OperationView withOutputShapes(List<Shape> shapes) {
    List<OperandView> shaped = new ArrayList<>(outputs.size());
    for (int i = 0; i < outputs.size(); i++) {
      shaped.add(outputs.get(i).with(shapes.get(i), Optional.empty()));
    }
    return new OperationView(type, inputs, shaped);
  }
}
