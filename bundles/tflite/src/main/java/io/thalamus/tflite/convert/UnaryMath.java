// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Functions of one number. */
final class UnaryMath {
  private static final int STORED = 256;

  private UnaryMath() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.ABS, UnaryMath::absolute);
    table.add(BuiltinOperator.EXP, OperationCode.EXP, 1);
    table.add(BuiltinOperator.FLOOR, OperationCode.FLOOR, 1);
    table.add(BuiltinOperator.LOG, OperationCode.LOG, 1);
    table.add(BuiltinOperator.NEG, OperationCode.NEG, 1);
    table.add(BuiltinOperator.RSQRT, OperationCode.RSQRT, 1);
    table.add(BuiltinOperator.SIN, OperationCode.SIN, 1);
    table.add(BuiltinOperator.SQRT, OperationCode.SQRT, 1);
    table.add(BuiltinOperator.SQUARE, UnaryMath::square);
    table.add(BuiltinOperator.CEIL, UnaryMath::ceil);
    table.add(BuiltinOperator.COS, UnaryMath::cos);
    table.add(BuiltinOperator.ROUND, UnaryMath::round);
    table.add(BuiltinOperator.SIGN, UnaryMath::sign);
  }

  /**
   * Of stored integers by a table: TensorFlow Lite scales the whole number, and rounds it twice,
   * which may be a step more than the real one.
   */
  private static void absolute(Node node) throws ModelFormatException {
    int input = node.in(0);
    Operand data = node.operand(input);
    if (!FloatFallback.isQuantized8(data) || !node.output(0).is8Bit()) {
      node.emit(OperationCode.ABS, List.of(input), node.out(0));
      return;
    }
    int output = node.out(0);
    Operand result = node.operand(output);
    float from = data.quantization().scale();
    float to = result.quantization().scale();
    Requantization factor = Requantization.of(from / to, Requantization.Rounding.DOUBLE);
    IntRange range = IntRange.of((OperandCode) result.type());
    int first = data.type() == OperandCode.TENSOR_QUANT8_ASYMM ? 0 : Byte.MIN_VALUE;
    byte[] table = new byte[STORED];
    for (int i = 0; i < STORED; i++) {
      int size = Math.abs(first + i - data.quantization().zeroPoint());
      int scaled = from == to ? size : factor.apply(size);
      table[i] =
          (byte) Math.clamp(scaled + result.quantization().zeroPoint(), range.min(), range.max());
    }
    int places = node.temporary(OperandCode.TENSOR_INT32, data.shape(), Quantization.NONE);
    node.emit(ThalamusExtension.CAST, List.of(input), places);
    if (first != 0) {
      int less = node.int32Vector(-first);
      places = node.compute(OperationCode.ADD, places, places, less, node.int32(0));
    }
    int values = node.constant(result, Shape.of(STORED), new ConstantCopy(table));
    node.emit(OperationCode.GATHER, List.of(values, node.int32(0), places), output);
  }

  private static void square(Node node) throws ModelFormatException {
    int input = node.in(0);
    node.emit(OperationCode.MUL, List.of(input, input, node.int32(0)), node.out(0));
  }

  /** {@code cos(x) = sin(x + pi / 2)}; the sum is rounded as the argument itself was. */
  private static void cos(Node node) throws ModelFormatException {
    int input = node.in(0);
    int quarter = node.number(node.operand(input), (float) (Math.PI / 2));
    int moved = node.compute(OperationCode.ADD, input, input, quarter, node.int32(0));
    node.emit(OperationCode.SIN, List.of(moved), node.out(0));
  }

  /** {@code ceil(x) = -floor(-x)}, exactly. */
  private static void ceil(Node node) throws ModelFormatException {
    int input = node.in(0);
    int floor =
        node.compute(OperationCode.FLOOR, input, node.compute(OperationCode.NEG, input, input));
    node.emit(OperationCode.NEG, List.of(floor), node.out(0));
  }

  /**
   * The nearest whole number, of two that are as near the even one: the next one up where the rest
   * is above a half, which for an odd number is a half less the step of a float there.
   */
  private static void round(Node node) throws ModelFormatException {
    int input = node.in(0);
    Operand data = node.operand(input);
    int none = node.int32(0);
    int whole = node.compute(OperationCode.FLOOR, input, input);
    int rest = node.compute(OperationCode.SUB, input, input, whole, none);
    int half = node.number(data, 0.5f);
    int pairs =
        node.compute(
            OperationCode.FLOOR, input, node.compute(OperationCode.MUL, input, whole, half, none));
    int even = node.compute(OperationCode.ADD, input, pairs, pairs, none);
    int odd = node.compute(OperationCode.SUB, input, whole, even, none);
    int step = node.number(data, Math.ulp(0.25f));
    int less = node.compute(OperationCode.MUL, input, odd, step, none);
    int bound = node.compute(OperationCode.SUB, input, half, less, none);
    int isAbove = compared(node, OperationCode.GREATER, rest, bound);
    int next = node.compute(OperationCode.ADD, input, whole, node.number(data, 1), none);
    node.emit(OperationCode.SELECT, List.of(isAbove, next, whole), node.out(0));
  }

  /** One with the sign of a number; 0 and what is no number stay as they are. */
  private static void sign(Node node) throws ModelFormatException {
    int input = node.in(0);
    Operand data = node.operand(input);
    int zero = node.number(data, 0);
    int isBelow = compared(node, OperationCode.LESS, input, zero);
    int isAbove = compared(node, OperationCode.GREATER, input, zero);
    int least = node.compute(OperationCode.SELECT, input, isBelow, spread(node, data, -1), input);
    node.emit(OperationCode.SELECT, List.of(isAbove, spread(node, data, 1), least), node.out(0));
  }

  private static int compared(Node node, OperationCode comparison, int input, int other)
      throws ModelFormatException {
    int result =
        node.temporary(OperandCode.TENSOR_BOOL8, node.operand(input).shape(), Quantization.NONE);
    node.emit(comparison, List.of(input, other), result);
    return result;
  }

  /** A number as often as there are elements, which NNAPI's SELECT wants. */
  private static int spread(Node node, Operand data, float value) throws ModelFormatException {
    int spread = node.temporary(data, data.shape());
    Strided.broadcast(node, node.number(data, value), data.shape(), spread);
    return spread;
  }
}
