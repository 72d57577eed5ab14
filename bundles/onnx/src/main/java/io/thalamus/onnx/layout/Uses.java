// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import java.util.HashMap;
import java.util.List;
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

  /**
   * Returns the place of the operation whose results an operation only moves, or others before it
   * that nothing else reads: each to a channel that is its own one, modulo the channels that there
   * are then. So the channels of a transposed convolution are moved to their places.
   */
  int moved(List<Operand> operands, List<Operation> operations, int place) {
    Operation move = operations.get(place);
    int from = move.inputs().getFirst();
    int channels = channels(operands.get(move.outputs().getFirst()));
    int before = channels(operands.get(from));
    boolean isMove =
        move.type() == OperationCode.SLICE
            ? before == channels
            : move.type() == OperationCode.DEPTH_TO_SPACE || move.type() == OperationCode.RESHAPE;
    return isMove
            && producer(from) != null
            && isReadOnce(from)
            && channels > 0
            && before % channels == 0
        ? moved(operands, operations, producer(from))
        : place;
  }

  /** The last size of an operand, which is that of its channels. */
  static int channels(Operand operand) {
    int rank = operand.shape().rank();
    return rank == 0 ? 0 : operand.shape().dimension(rank - 1);
  }

  /** Has another operation compute an operand. */
  void produce(int operand, int operation) {
    producers.put(operand, operation);
  }
}
