// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.util.HashMap;
import java.util.Map;

/** Who reads and who computes the operands of a graph. Not thread-safe. */
final class Uses {
  private final Map<Integer, Integer> readers = new HashMap<>();
  private final Map<Integer, Integer> producers = new HashMap<>();

  Uses(Subgraph graph) {
    graph.outputIndexes().forEach(output -> readers.merge(output, 1, Integer::sum));
    for (int i = 0; i < graph.operations().size(); i++) {
      Operation operation = graph.operations().get(i);
      operation.inputs().forEach(input -> readers.merge(input, 1, Integer::sum));
      for (int output : operation.outputs()) {
        producers.put(output, i);
      }
    }
  }

  /** Returns whether one operation reads an operand, once, and it is no output of the graph. */
  boolean isReadOnce(int operand) {
    return readers.getOrDefault(operand, 0) == 1;
  }

  /** Returns the place of the operation that computes an operand; null where none does. */
  Integer producer(int operand) {
    return producers.get(operand);
  }

  /** Has another operation compute an operand. */
  void produce(int operand, int operation) {
    producers.put(operand, operation);
  }
}
