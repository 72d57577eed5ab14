// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.tck.mutation.MutationFamily.Collector;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawSubgraph;
import java.util.function.UnaryOperator;

/** Faults in a single operand. */
final class OperandFaults {
  /** Just outside of the ranges of NN HAL 1.3's fundamental and OEM types. */
  private static final int[] TYPES = {-1, 16, 9_999, 10_002};

  private OperandFaults() {}

  static void type(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      for (int type : TYPES) {
        add(found, i, "is of type " + type, operand -> operand.withType(type));
      }
    }
  }

  /** A scalar with a dimension. */
  static void rank(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      switch (graph.operands().get(i).type()) {
        case "FLOAT16", "FLOAT32", "INT32", "UINT32", "BOOL" ->
            add(found, i, "has rank 1", operand -> operand.withDims(0));
        default -> {
          // Tensors of any rank are legal, as far as their operation does not restrict it.
        }
      }
    }
  }

  static void scale(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      double scale =
          switch (graph.operands().get(i).type()) {
            case "TENSOR_INT32" -> -1;
            case "TENSOR_QUANT8_ASYMM",
                "TENSOR_QUANT8_ASYMM_SIGNED",
                "TENSOR_QUANT8_SYMM",
                "TENSOR_QUANT16_ASYMM",
                "TENSOR_QUANT16_SYMM" ->
                0;
            default -> 1;
          };
      add(found, i, "has scale " + scale, operand -> operand.withScale(scale));
    }
  }

  static void zeroPoint(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      for (int zeroPoint : badZeroPoints(graph.operands().get(i).type())) {
        add(found, i, "has zero point " + zeroPoint, operand -> operand.withZeroPoint(zeroPoint));
      }
    }
  }

  /** AOSP's, and those of TENSOR_QUANT8_ASYMM_SIGNED, which it leaves out. */
  private static int[] badZeroPoints(String type) {
    return switch (type) {
      case "TENSOR_QUANT8_ASYMM" -> new int[] {-1, 256};
      case "TENSOR_QUANT8_ASYMM_SIGNED" -> new int[] {-129, 128};
      case "TENSOR_QUANT8_SYMM" -> new int[] {-129, -1, 1, 128};
      case "TENSOR_QUANT16_ASYMM" -> new int[] {-1, 65_536};
      case "TENSOR_QUANT16_SYMM" -> new int[] {-32_769, -1, 1, 32_768};
      default -> new int[] {1};
    };
  }

  static void numberOfConsumers(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      int consumers = graph.operands().get(i).consumers();
      add(found, i, "has a consumer too many", operand -> operand.withConsumers(consumers + 1));
      if (consumers > 0) {
        add(found, i, "has a consumer too few", operand -> operand.withConsumers(consumers - 1));
      }
    }
  }

  private static void add(
      Collector found, int operand, String fault, UnaryOperator<RawOperand> edit) {
    found.add("operand " + operand + " " + fault, draft -> draft.change(operand, edit));
  }
}
