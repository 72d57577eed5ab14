// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.tck.reference.Bounds;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes complete examples of graphs whose operands carry their values. */
final class Graphs {
  private Graphs() {}

  /**
   * An example of a graph whose inputs have their values in the operands. Operands that nobody uses
   * are left out, consumers are counted, shapes and expected outputs are evaluated.
   *
   * @throws RuntimeException where the graph cannot be evaluated
   */
  static Example example(String name, RawSubgraph graph, Evaluator evaluator) {
    RawSubgraph compact = compact(graph);
    List<Tensor> values = new ArrayList<>();
    for (RawOperand operand : compact.operands()) {
      values.add(operand.values().map(v -> Evaluator.tensor(operand, v)).orElse(null));
    }
    List<RawOperand> operands = new ArrayList<>(compact.operands());
    for (RawOperation operation : compact.operations()) {
      List<Tensor> outputs = evaluator.evaluate(compact, operation, values);
      for (int i = 0; i < outputs.size(); i++) {
        int index = operation.outputs().get(i);
        values.set(index, outputs.get(i));
        operands.set(index, operands.get(index).withDims(outputs.get(i).shape()));
      }
    }
    List<Integer> inputIndexes = new ArrayList<>();
    List<Integer> outputIndexes = new ArrayList<>();
    List<Example.Input> inputs = new ArrayList<>();
    List<Example.ExpectedOutput> expected = new ArrayList<>();
    for (int i = 0; i < operands.size(); i++) {
      RawOperand operand = operands.get(i);
      if (operand.lifetime().equals("SUBGRAPH_INPUT")) {
        inputIndexes.add(i);
        inputs.add(new Example.Input(i, operand.values().orElseThrow()));
        operands.set(i, operand.withValues(Optional.empty()));
      } else if (operand.lifetime().equals("SUBGRAPH_OUTPUT")) {
        outputIndexes.add(i);
        expected.add(new Example.ExpectedOutput(i, isOpen(values.get(i)), stored(values.get(i))));
      }
    }
    return Example.of(
        name,
        new RawSubgraph(operands, compact.operations(), inputIndexes, outputIndexes),
        inputs,
        expected);
  }

  /**
   * Returns whether several results are right that no tolerance covers, as indexes of equal
   * elements.
   */
  private static boolean isOpen(Tensor tensor) {
    return switch (tensor.type()) {
      case TENSOR_INT32, TENSOR_BOOL8 -> {
        boolean open = false;
        for (int i = 0; i < tensor.size(); i++) {
          open |= tensor.real().low()[i] != tensor.real().high()[i];
        }
        yield open;
      }
      default -> false;
    };
  }

  /** The exact values as an operand of the type can store them. */
  static Values stored(Tensor tensor) {
    double[] numbers = tensor.stored().middle().clone();
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] =
          switch (tensor.type()) {
            case FLOAT32, TENSOR_FLOAT32 -> (float) numbers[i];
            case FLOAT16, TENSOR_FLOAT16 ->
                Float.float16ToFloat(Float.floatToFloat16((float) numbers[i]));
            default -> numbers[i];
          };
    }
    return Values.of(numbers);
  }

  /** The graph of an example with the inputs' values in the operands again. */
  static RawSubgraph withValues(Example example) {
    List<RawOperand> operands = new ArrayList<>(example.main().operands());
    example
        .inputs()
        .forEach(
            input ->
                operands.set(
                    input.operand(),
                    operands.get(input.operand()).withValues(Optional.of(input.values()))));
    return example.main().withOperands(operands);
  }

  /** Only the operands that are used, with their consumers. */
  private static RawSubgraph compact(RawSubgraph graph) {
    int[] consumers = new int[graph.operands().size()];
    boolean[] used = new boolean[consumers.length];
    for (RawOperation operation : graph.operations()) {
      operation.inputs().forEach(input -> consumers[input]++);
      operation.outputs().forEach(output -> used[output] = true);
    }
    Map<Integer, Integer> moved = new HashMap<>();
    List<RawOperand> operands = new ArrayList<>();
    for (int i = 0; i < consumers.length; i++) {
      if (used[i] || consumers[i] > 0) {
        moved.put(i, operands.size());
        operands.add(graph.operands().get(i).withConsumers(consumers[i]));
      }
    }
    List<RawOperation> operations = new ArrayList<>();
    for (RawOperation operation : graph.operations()) {
      operations.add(
          operation
              .withInputs(operation.inputs().stream().map(moved::get).toList())
              .withOutputs(operation.outputs().stream().map(moved::get).toList()));
    }
    return new RawSubgraph(operands, operations, List.of(), List.of());
  }

  /** Returns whether the bounds hold a value that a device stored. */
  static boolean holds(Bounds stored, int index, double actual) {
    return stored.low()[index] <= actual && actual <= stored.high()[index];
  }
}
