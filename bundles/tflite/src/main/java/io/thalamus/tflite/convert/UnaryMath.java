// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Functions of one number. */
final class UnaryMath {
  private UnaryMath() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.ABS, unary(OperationCode.ABS));
    table.add(BuiltinOperator.EXP, unary(OperationCode.EXP));
    table.add(BuiltinOperator.FLOOR, unary(OperationCode.FLOOR));
    table.add(BuiltinOperator.LOG, unary(OperationCode.LOG));
    table.add(BuiltinOperator.NEG, unary(OperationCode.NEG));
    table.add(BuiltinOperator.RSQRT, unary(OperationCode.RSQRT));
    table.add(BuiltinOperator.SIN, unary(OperationCode.SIN));
    table.add(BuiltinOperator.SQRT, unary(OperationCode.SQRT));
    table.add(BuiltinOperator.SQUARE, UnaryMath::square);
    table.add(BuiltinOperator.CEIL, UnaryMath::ceil);
    table.add(BuiltinOperator.COS, UnaryMath::cos);
  }

  private static OperatorConverter unary(OperationCode code) {
    return node -> node.emit(code, List.of(node.in(0)), node.out(0));
  }

  private static void square(Node node) throws ModelFormatException {
    int input = node.in(0);
    node.emit(OperationCode.MUL, List.of(input, input, node.int32(0)), node.out(0));
  }

  /** {@code cos(x) = sin(x + pi / 2)}; the sum is rounded as the argument itself was. */
  private static void cos(Node node) throws ModelFormatException {
    int input = node.in(0);
    Operand operand = node.operand(input);
    int moved = node.temporary(operand, operand.shape());
    int quarter = Activation.number(node, operand, (float) (Math.PI / 2));
    node.emit(OperationCode.ADD, List.of(input, quarter, node.int32(0)), moved);
    node.emit(OperationCode.SIN, List.of(moved), node.out(0));
  }

  /** {@code ceil(x) = -floor(-x)}, exactly. */
  private static void ceil(Node node) throws ModelFormatException {
    int input = node.in(0);
    Operand operand = node.operand(input);
    int negative = node.temporary(operand, operand.shape());
    int floor = node.temporary(operand, operand.shape());
    node.emit(OperationCode.NEG, List.of(input), negative);
    node.emit(OperationCode.FLOOR, List.of(negative), floor);
    node.emit(OperationCode.NEG, List.of(floor), node.out(0));
  }
}
