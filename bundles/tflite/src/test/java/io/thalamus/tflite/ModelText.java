// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A graph as text for comparison: one line for each operation, operands by name, scalars and
 * vectors of integers by value, intermediates numbered in the order of their appearance.
 */
final class ModelText {
  private final Subgraph graph;
  private final Map<Integer, String> intermediates = new HashMap<>();

  private ModelText(Subgraph graph) {
    this.graph = graph;
  }

  static String of(Model model) {
    return of(model.main());
  }

  /** The values of a constant. */
  static String floats(Operand operand) {
    return value(operand, ((Lifetime.Constant) operand.lifetime()).bytes());
  }

  static String of(Subgraph graph) {
    ModelText text = new ModelText(graph);
    return graph.operations().stream().map(text::line).collect(Collectors.joining("\n"));
  }

  private String line(Operation operation) {
    return operation.type().text()
        + "("
        + names(operation.inputs())
        + ") -> "
        + names(operation.outputs());
  }

  private String names(List<Integer> operands) {
    return operands.stream().map(this::name).collect(Collectors.joining(", "));
  }

  private String name(int index) {
    Operand operand = graph.operands().get(index);
    if (!operand.name().isEmpty()) {
      return operand.name();
    }
    return switch (operand.lifetime()) {
      case Lifetime.NoValue _ -> "-";
      case Lifetime.SubgraphReference reference -> "@" + reference.index();
      case Lifetime.Constant constant -> value(operand, constant.bytes());
      default ->
          intermediates.computeIfAbsent(
              index, key -> "%" + intermediates.size() + ":" + operand.shape());
    };
  }

  private static String value(Operand operand, MemorySegment bytes) {
    return switch ((OperandCode) operand.type()) {
      case INT32 -> Integer.toString(bytes.get(ValueLayout.JAVA_INT_UNALIGNED, 0));
      case FLOAT32 -> Float.toString(bytes.get(ValueLayout.JAVA_FLOAT_UNALIGNED, 0));
      case BOOL -> bytes.get(ValueLayout.JAVA_BYTE, 0) != 0 ? "true" : "false";
      case TENSOR_INT32 -> Arrays.toString(bytes.toArray(ValueLayout.JAVA_INT_UNALIGNED));
      case TENSOR_FLOAT32 -> Arrays.toString(bytes.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED));
      default -> operand.type().text() + ":" + operand.shape();
    };
  }
}
