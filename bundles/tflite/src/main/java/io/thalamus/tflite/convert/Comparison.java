// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Comparisons and logic. */
final class Comparison {
  private Comparison() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.EQUAL, binary(OperationCode.EQUAL));
    table.add(BuiltinOperator.NOT_EQUAL, binary(OperationCode.NOT_EQUAL));
    table.add(BuiltinOperator.GREATER, binary(OperationCode.GREATER));
    table.add(BuiltinOperator.GREATER_EQUAL, binary(OperationCode.GREATER_EQUAL));
    table.add(BuiltinOperator.LESS, binary(OperationCode.LESS));
    table.add(BuiltinOperator.LESS_EQUAL, binary(OperationCode.LESS_EQUAL));
    table.add(BuiltinOperator.LOGICAL_AND, binary(OperationCode.LOGICAL_AND));
    table.add(BuiltinOperator.LOGICAL_OR, binary(OperationCode.LOGICAL_OR));
    table.add(
        BuiltinOperator.LOGICAL_NOT,
        node -> node.emit(OperationCode.LOGICAL_NOT, List.of(node.in(0)), node.out(0)));
  }

  private static OperatorConverter binary(OperationCode code) {
    return node -> node.emit(code, List.of(node.in(0), node.in(1)), node.out(0));
  }
}
