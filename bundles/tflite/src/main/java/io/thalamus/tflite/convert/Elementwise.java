// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import com.google.flatbuffers.Table;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.tensorflow.lite.schema.AddOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.DivOptions;
import org.tensorflow.lite.schema.MulOptions;
import org.tensorflow.lite.schema.SubOptions;

/** Arithmetic, comparisons and logic of two tensors, with broadcasting. */
final class Elementwise {

  private Elementwise() {}

  static void addTo(Converters table) {
    table.add(
        BuiltinOperator.ADD,
        arithmetic(OperationCode.ADD, AddOptions::new, AddOptions::fusedActivationFunction));
    table.add(
        BuiltinOperator.SUB,
        arithmetic(OperationCode.SUB, SubOptions::new, SubOptions::fusedActivationFunction));
    table.add(
        BuiltinOperator.MUL,
        arithmetic(OperationCode.MUL, MulOptions::new, MulOptions::fusedActivationFunction));
    table.add(
        BuiltinOperator.DIV,
        arithmetic(OperationCode.DIV, DivOptions::new, DivOptions::fusedActivationFunction));
    table.add(BuiltinOperator.MAXIMUM, pair(OperationCode.MAXIMUM));
    table.add(BuiltinOperator.MINIMUM, pair(OperationCode.MINIMUM));
    table.add(BuiltinOperator.POW, Elementwise::power);
    table.add(BuiltinOperator.FLOOR_DIV, pair(ThalamusExtension.FLOOR_DIV));
    table.add(BuiltinOperator.ATAN2, ThalamusExtension.ATAN2, 2);
    table.add(BuiltinOperator.BITWISE_XOR, Bits::differences);
    table.add(BuiltinOperator.BITCAST, Bits::cast);
    table.add(BuiltinOperator.RIGHT_SHIFT, Bits::rightShift);
    table.add(BuiltinOperator.SQUARED_DIFFERENCE, Elementwise::squaredDifference);
    table.add(BuiltinOperator.FLOOR_MOD, Elementwise::floorMod);
    table.add(BuiltinOperator.ADD_N, Elementwise::sum);
    table.add(BuiltinOperator.EQUAL, pair(OperationCode.EQUAL));
    table.add(BuiltinOperator.NOT_EQUAL, pair(OperationCode.NOT_EQUAL));
    table.add(BuiltinOperator.GREATER, pair(OperationCode.GREATER));
    table.add(BuiltinOperator.GREATER_EQUAL, pair(OperationCode.GREATER_EQUAL));
    table.add(BuiltinOperator.LESS, pair(OperationCode.LESS));
    table.add(BuiltinOperator.LESS_EQUAL, pair(OperationCode.LESS_EQUAL));
    table.add(BuiltinOperator.LOGICAL_AND, OperationCode.LOGICAL_AND, 2);
    table.add(BuiltinOperator.LOGICAL_OR, OperationCode.LOGICAL_OR, 2);
    table.add(BuiltinOperator.LOGICAL_NOT, OperationCode.LOGICAL_NOT, 1);
  }

  private static Consumer<Node> pair(OperationType operation) {
    return node -> {
      if (!Unsigned.convert(node, operation) && !StoredTables.compare(node, operation)) {
        node.emit(operation, node.out(0), node.in(0), node.in(1));
      }
    };
  }

  private static <T extends Table> Consumer<Node> arithmetic(
      OperationCode code, Supplier<T> empty, Function<T, Byte> activation) {
    return node -> {
      T options = node.options(empty.get());
      int fused = node.int32(node.fused(node.get(() -> activation.apply(options))));
      int first = node.in(0);
      int second = node.in(1);
      if (TensorTypes.isPlain16(node.output(0))) {
        node.require(code != OperationCode.DIV, "it divides integers of 16 bits");
        int wide = node.compute(code, first, first, second, fused);
        node.alias(0, Bits.kept(node, wide, node.output(0)));
        return;
      }
      node.require(code != OperationCode.DIV || !Unsigned.is(node.input(0)), "it divides UINT32");
      int output = node.out(0);
      if (Integers.isInteger(node.operand(first))) {
        Integers.activated(
            node,
            node.get(() -> activation.apply(options)),
            output,
            result -> {
              if (code == OperationCode.DIV) {
                Integers.divide(node, first, second, result);
              } else {
                node.emit(code, result, first, second);
              }
            });
        return;
      }
      if (!isTooFine(node, code, first, second, output)) {
        node.emit(code, output, first, second, fused);
        return;
      }
      int real =
          node.compute(
              code,
              OperandCode.TENSOR_FLOAT32,
              node.operand(output).shape(),
              FloatFallback.dequantized(node, first),
              FloatFallback.dequantized(node, second),
              fused);
      node.emit(OperationCode.QUANTIZE, output, real);
    };
  }

  /** NNAPI multiplies only where the product loses digits. */
  private static boolean isTooFine(
      Node node, OperationCode code, int first, int second, int output) {
    Operand target = node.operand(output);
    return code == OperationCode.DIV && FloatFallback.isQuantized8(target)
        || code == OperationCode.MUL
            && FloatFallback.isQuantized8(target)
            && target.quantization().scale()
                <= node.operand(first).quantization().scale()
                    * node.operand(second).quantization().scale();
  }

  /** Composes NNAPI operations, which more devices run; a quantized difference has no scale. */
  private static void squaredDifference(Node node) {
    if (FloatFallback.isQuantized8(node.inOperand(0))) {
      node.emit(ThalamusExtension.SQUARED_DIFFERENCE, node.out(0), node.in(0), node.in(1));
      return;
    }
    int first = node.in(0);
    int second = node.in(1);
    int output = node.out(0);
    int difference = node.compute(OperationCode.SUB, output, first, second);
    node.emit(OperationCode.MUL, output, difference, difference);
  }

  /** NNAPI raises no integers: those to a known power are multiplied. */
  private static void power(Node node) {
    int base = node.in(0);
    if (!Integers.isInteger(node.operand(base))) {
      node.emit(OperationCode.POW, node.out(0), base, node.in(1));
      return;
    }
    if (!node.isKnown(1) || node.ints(1).length != 1 || node.ints(1)[0] == 0) {
      Integers.power(node, base, node.in(1), node.out(0));
      return;
    }
    int exponent = node.onlyInt(1);
    node.require(exponent >= 1 && exponent < Integer.SIZE, "it raises integers to " + exponent);
    int result = -1;
    for (int bit = Integer.highestOneBit(exponent); bit > 0; bit >>= 1) {
      result = result < 0 ? base : node.compute(OperationCode.MUL, base, result, result);
      if ((exponent & bit) != 0 && bit != Integer.highestOneBit(exponent)) {
        result = node.compute(OperationCode.MUL, base, result, base);
      }
    }
    node.alias(0, result);
  }

  /** {@code a - floor(a / b) * b}. */
  private static void floorMod(Node node) {
    int dividend = node.in(0);
    int divisor = node.in(1);
    int output = node.out(0);
    int quotient = node.compute(ThalamusExtension.FLOOR_DIV, output, dividend, divisor);
    int whole = node.compute(OperationCode.MUL, output, quotient, divisor);
    node.emit(OperationCode.SUB, output, dividend, whole);
  }

  private static void sum(Node node) {
    node.require(node.inputCount() > 1, "it has fewer than two inputs");
    int total = node.in(0);
    for (int i = 1; i < node.inputCount(); i++) {
      int next = node.in(i);
      boolean last = i == node.inputCount() - 1;
      int target =
          last ? node.out(0) : node.temporary(node.inOperand(0), node.inOperand(0).shape());
      node.emit(OperationCode.ADD, target, total, next);
      total = target;
    }
  }
}
