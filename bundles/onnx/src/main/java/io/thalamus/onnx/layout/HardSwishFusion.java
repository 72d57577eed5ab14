// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import static io.thalamus.onnx.layout.QuantizedConstants.real;
import static io.thalamus.onnx.layout.QuantizedConstants.reals;

import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Makes one operation of {@code x * relu6(x + 3) / 6}, as exporters write it that do not know
 * HardSwish, in whatever order they multiply and divide.
 */
final class HardSwishFusion {
  private static final float SHIFT = 3;
  private static final float DIVISOR = 6;

  private final Subgraph graph;
  private final Map<Constant, Grid> grids;
  private final Uses uses;

  private HardSwishFusion(Subgraph graph, Map<Constant, Grid> grids) {
    this.graph = graph;
    this.grids = grids;
    uses = new Uses(graph);
  }

  static Subgraph fuse(Subgraph graph, Map<Constant, Grid> grids) {
    HardSwishFusion fusion = new HardSwishFusion(graph, grids);
    List<Operation> operations = new ArrayList<>();
    for (Operation operation : graph.operations()) {
      int value = fusion.argument(operation);
      operations.add(
          value < 0
              ? operation
              : new Operation(OperationCode.HARD_SWISH, List.of(value), operation.outputs()));
    }
    return new Subgraph(graph.operands(), operations, graph.inputIndexes(), graph.outputIndexes());
  }

  /** What an operation gives the HARD_SWISH of; -1 if it gives something else. */
  private int argument(Operation operation) {
    int divided = sixth(operation);
    int value = divided < 0 ? product(operation, true) : product(producer(divided), false);
    boolean isAlike = value >= 0 && shape(value).equals(shape(operation.outputs().getFirst()));
    return isAlike ? value : -1;
  }

  private Shape shape(int operand) {
    return graph.operands().get(operand).shape();
  }

  /** The {@code x} of a product of it and what is limited, or a sixth of that; else -1. */
  private int product(Operation operation, boolean isOfSixth) {
    if (!isFree(operation, OperationCode.MUL)) {
      return -1;
    }
    for (int i = 0; i < 2; i++) {
      int value = operation.inputs().get(i);
      Operation other = producer(operation.inputs().get(1 - i));
      int limited = isOfSixth ? sixth(other) : operation.inputs().get(1 - i);
      Operation limit = limited < 0 ? null : producer(limited);
      if (limit != null
          && limit.type() == OperationCode.RELU6
          && isSum(producer(limit.inputs().getFirst()), value)
          && graph.operands().get(value).type() == OperandCode.TENSOR_FLOAT32) {
        return value;
      }
    }
    return -1;
  }

  /** Returns whether an operation gives {@code value + 3}. */
  private boolean isSum(Operation operation, int value) {
    return isFree(operation, OperationCode.ADD)
        && (operation.inputs().get(0) == value && isNumber(operation.inputs().get(1), SHIFT)
            || operation.inputs().get(1) == value && isNumber(operation.inputs().get(0), SHIFT));
  }

  /** What an operation gives a sixth of; else -1. */
  private int sixth(Operation operation) {
    if (isFree(operation, OperationCode.DIV)) {
      return isNumber(operation.inputs().get(1), DIVISOR) ? operation.inputs().get(0) : -1;
    }
    for (int i = 0; i < 2 && isFree(operation, OperationCode.MUL); i++) {
      if (isNumber(operation.inputs().get(1 - i), 1 / DIVISOR)) {
        return operation.inputs().get(i);
      }
    }
    return -1;
  }

  private boolean isFree(Operation operation, OperationCode type) {
    return operation != null
        && operation.type() == type
        && ActivationFusion.isFree(graph.operands(), operation);
  }

  private Operation producer(int operand) {
    Integer place = uses.producer(operand);
    return place == null ? null : graph.operations().get(place);
  }

  private boolean isNumber(int index, float number) {
    Operand operand = graph.operands().get(index);
    return operand.type() == OperandCode.TENSOR_FLOAT32
        && operand.lifetime() instanceof Constant
        && operand.shape().elementCount() == 1
        && real(reals(operand, grids), 0) == number;
  }
}
