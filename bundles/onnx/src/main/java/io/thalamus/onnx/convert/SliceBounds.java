// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperandCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Tensor;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Starts and ends of slices, of which those beyond any size stand for all there is. They are
 * brought within 32 bits, which is what integers are computed with.
 */
final class SliceBounds {
  /** Beyond any size. */
  static final int MOST = 1 << 30;

  /** Operators that hand integers on. */
  private static final Set<String> PASSING =
      Set.of("Concat", "Identity", "Squeeze", "Unsqueeze", "Reshape", "Cast");

  private SliceBounds() {}

  /** The names of a graph's values that are starts and ends, and nothing else. */
  static Set<String> of(OnnxGraph graph) {
    Set<String> bounds = new HashSet<>();
    Set<String> others = new HashSet<>();
    graph.outputs().stream().map(OnnxValue::name).forEach(others::add);
    int[] order = NodeOrder.of(graph);
    for (int at = order.length - 1; at >= 0; at--) {
      OnnxNode node = graph.nodes().get(order[at]);
      boolean isPassed =
          PASSING.contains(node.type())
              && bounds.containsAll(node.outputs())
              && node.outputs().stream().noneMatch(others::contains);
      for (int i = 0; i < node.inputs().size(); i++) {
        boolean isBound =
            node.type().equals("Slice")
                ? i == 1 || i == 2
                : isPassed && (i == 0 || node.type().equals("Concat"));
        (isBound ? bounds : others).add(node.inputs().get(i));
      }
      for (OnnxAttribute attribute : node.attributes().values()) {
        if (attribute.graph() != null) {
          attribute.graph().nodes().forEach(inner -> others.addAll(NodeOrder.reads(inner)));
          attribute.graph().outputs().forEach(output -> others.add(output.name()));
        }
      }
    }
    bounds.removeAll(others);
    return bounds;
  }

  /** Returns whether 32 bits do not hold a constant. */
  static boolean isBeyond(Value value) {
    return value.isConstant()
        && value.type() == DataType.INT64
        && Arrays.stream(value.constant().integers()).anyMatch(number -> number != (int) number);
  }

  static Value within(Value value, Budget budget) {
    double[] numbers =
        Arrays.stream(value.constant().integers())
            .mapToDouble(number -> Math.clamp(number, Integer.MIN_VALUE, Integer.MAX_VALUE))
            .toArray();
    return Value.of(Tensor.of(DataType.INT64, value.shape(), numbers, budget));
  }

  /** The operand of a caller's 64-bit integers, as 32-bit ones. */
  static int within(Ops ops, int operand, int... shape) {
    Value real = Value.of(DataType.FLOAT, shape, ops.convert(operand, OperandCode.TENSOR_FLOAT32));
    Value limited = ops.max(ops.min(real, MOST), -MOST);
    return ops.operand(ops.cast(limited, DataType.INT32));
  }

  /** An end where steps go backwards, for which the largest stands for the beginning. */
  static Value backwards(Ops ops, Value end) {
    Value isLargest = ops.binary(Binary.GREATER_EQUAL, end, ops.number(end.type(), MOST));
    return ops.select(isLargest, ops.number(end.type(), -MOST), end);
  }
}
