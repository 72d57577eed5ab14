// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import static io.thalamus.model.LittleEndian.INT;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/** Lets an operation apply the activation that follows it, where nothing else reads its result. */
final class ActivationFusion {
  private static final int RELU = 1;
  private static final int RELU1 = 2;
  private static final int RELU6 = 3;

  private ActivationFusion() {}

  static Subgraph fuse(Subgraph graph) {
    Uses uses = new Uses(graph);
    List<Operand> operands = new ArrayList<>(graph.operands());
    List<Operation> operations = new ArrayList<>(graph.operations());
    for (int i = 0; i < operations.size(); i++) {
      Operation activation = operations.get(i);
      int code = code(activation);
      Integer before = code == 0 ? null : uses.producer(activation.inputs().getFirst());
      if (before == null || !uses.isReadOnce(activation.inputs().getFirst())) {
        continue;
      }
      int computing = uses.moved(operands, operations, before);
      Operation fused = fused(operands, operations.get(computing), code);
      if (fused != null) {
        operations.set(computing, fused);
        Operation last = operations.get(before);
        operations.set(before, new Operation(last.type(), last.inputs(), activation.outputs()));
        operations.set(i, null);
        uses.produce(activation.outputs().getFirst(), before);
      }
    }
    operations.removeIf(operation -> operation == null);
    return new Subgraph(operands, operations, graph.inputIndexes(), graph.outputIndexes());
  }

  private static int code(Operation operation) {
    if (!(operation.type() instanceof OperationCode type)) {
      return 0;
    }
    return switch (type) {
      case RELU -> RELU;
      case RELU1 -> RELU1;
      case RELU6 -> RELU6;
      default -> 0;
    };
  }

  /** The operation with an activation; null where it takes none, or has one. */
  private static Operation fused(List<Operand> operands, Operation operation, int code) {
    OptionalInt place = place(operation);
    if (place.isEmpty()) {
      return null;
    }
    Operand result = operands.get(operation.outputs().getFirst());
    if (!isFree(operands, operation) || result.type() != OperandCode.TENSOR_FLOAT32) {
      return null;
    }
    operands.add(
        new Operand(
            OperandCode.INT32,
            Shape.NONE,
            Quantization.NONE,
            new Lifetime.ConstantCopy(new byte[] {(byte) code, 0, 0, 0}),
            ""));
    List<Integer> inputs = new ArrayList<>(operation.inputs());
    inputs.set(place.getAsInt(), operands.size() - 1);
    return new Operation(operation.type(), inputs, operation.outputs());
  }

  /** Returns whether an operation could apply an activation, and applies none. */
  static boolean isFree(List<Operand> operands, Operation operation) {
    OptionalInt place = place(operation);
    if (place.isEmpty()) {
      return false;
    }
    Operand known = operands.get(operation.inputs().get(place.getAsInt()));
    return known.type() == OperandCode.INT32
        && known.lifetime() instanceof Lifetime.Constant value
        && value.bytes().get(INT, 0) == 0;
  }

  /** The argument that names the activation, in the forms with explicit padding. */
  private static OptionalInt place(Operation operation) {
    if (!(operation.type() instanceof OperationCode type)) {
      return OptionalInt.empty();
    }
    return switch (type) {
      case ADD, SUB, MUL, DIV -> OptionalInt.of(2);
      case FULLY_CONNECTED -> OptionalInt.of(3);
      case CONV_2D, AVERAGE_POOL_2D, MAX_POOL_2D ->
          operation.inputs().size() >= 10 ? OptionalInt.of(9) : OptionalInt.empty();
      case DEPTHWISE_CONV_2D ->
          operation.inputs().size() >= 11 ? OptionalInt.of(10) : OptionalInt.empty();
      case GROUPED_CONV_2D ->
          operation.inputs().size() == 12 ? OptionalInt.of(10) : OptionalInt.empty();
      default -> OptionalInt.empty();
    };
  }
}
