// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Functions of one number. */
final class UnaryMath {
  private UnaryMath() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.ABS, StoredTables::absolute);
    table.add(
        BuiltinOperator.EXP,
        StoredTables.function(OperationCode.EXP, (value, scale) -> Math.exp(value)));
    table.add(BuiltinOperator.FLOOR, OperationCode.FLOOR, 1);
    table.add(BuiltinOperator.LOG, UnaryMath::log);
    table.add(BuiltinOperator.NEG, OperationCode.NEG, 1);
    table.add(BuiltinOperator.RSQRT, StoredTables.function(OperationCode.RSQRT, UnaryMath::root));
    table.add(BuiltinOperator.SIN, OperationCode.SIN, 1);
    table.add(BuiltinOperator.SQRT, OperationCode.SQRT, 1);
    table.add(BuiltinOperator.SQUARE, UnaryMath::square);
    table.add(BuiltinOperator.CEIL, UnaryMath::ceil);
    table.add(BuiltinOperator.COS, UnaryMath::cos);
    table.add(BuiltinOperator.ROUND, UnaryMath::round);
    table.add(BuiltinOperator.SIGN, UnaryMath::sign);
  }

  /** What has no logarithm has the least result that is stored. */
  private static void log(Node node) {
    if (!FloatFallback.isQuantized8(node.inOperand(0))) {
      StoredTables.function(OperationCode.LOG, UnaryMath::logarithm).accept(node);
      return;
    }
    FloatFallback.always(
        node,
        (input, output) -> {
          int least = node.number(node.operand(input), Float.MIN_NORMAL);
          int positive = node.compute(OperationCode.MAXIMUM, input, input, least);
          node.emit(OperationCode.LOG, output, positive);
        });
  }

  private static double logarithm(double value, float scale) {
    return value > 0 ? Math.log(value) : Short.MIN_VALUE * scale;
  }

  private static double root(double value, float scale) {
    return value > 0 ? 1 / (float) Math.sqrt(value) : Short.MAX_VALUE * scale;
  }

  private static void square(Node node) {
    int input = node.in(0);
    node.emit(OperationCode.MUL, node.out(0), input, input);
  }

  /** {@code cos(x) = sin(x + pi / 2)}; the sum is rounded as the argument itself was. */
  private static void cos(Node node) {
    int input = node.in(0);
    int quarter = node.number(node.operand(input), (float) (Math.PI / 2));
    int moved = node.compute(OperationCode.ADD, input, input, quarter);
    node.emit(OperationCode.SIN, node.out(0), moved);
  }

  /** {@code ceil(x) = -floor(-x)}, exactly. */
  private static void ceil(Node node) {
    int input = node.in(0);
    int floor =
        node.compute(OperationCode.FLOOR, input, node.compute(OperationCode.NEG, input, input));
    node.emit(OperationCode.NEG, node.out(0), floor);
  }

  /**
   * The nearest whole number, of two that are as near the even one: the next one up where the rest
   * is above a half, which for an odd number is a half less the step of a float there.
   */
  private static void round(Node node) {
    int input = node.in(0);
    Operand data = node.operand(input);
    int whole = node.compute(OperationCode.FLOOR, input, input);
    int rest = node.compute(OperationCode.SUB, input, input, whole);
    int half = node.number(data, 0.5f);
    int pairs =
        node.compute(
            OperationCode.FLOOR, input, node.compute(OperationCode.MUL, input, whole, half));
    int even = node.compute(OperationCode.ADD, input, pairs, pairs);
    int odd = node.compute(OperationCode.SUB, input, whole, even);
    int step = node.number(data, Math.ulp(0.25f));
    int less = node.compute(OperationCode.MUL, input, odd, step);
    int bound = node.compute(OperationCode.SUB, input, half, less);
    int isAbove = node.compare(OperationCode.GREATER, rest, bound);
    int next = node.compute(OperationCode.ADD, input, whole, node.number(data, 1));
    node.emit(OperationCode.SELECT, node.out(0), isAbove, next, whole);
  }

  /** One with the sign of a number; 0 and what is no number stay as they are. */
  private static void sign(Node node) {
    int input = node.in(0);
    Operand data = node.operand(input);
    int zero = node.number(data, 0);
    int isBelow = node.compare(OperationCode.LESS, input, zero);
    int isAbove = node.compare(OperationCode.GREATER, input, zero);
    int least = node.compute(OperationCode.SELECT, input, isBelow, spread(node, data, -1), input);
    node.emit(OperationCode.SELECT, node.out(0), isAbove, spread(node, data, 1), least);
  }

  /** A number as often as there are elements, which NNAPI's SELECT wants. */
  private static int spread(Node node, Operand data, float value) {
    int spread = node.temporary(data, data.shape());
    Strided.broadcast(node, node.number(data, value), data.shape(), spread);
    return spread;
  }
}
