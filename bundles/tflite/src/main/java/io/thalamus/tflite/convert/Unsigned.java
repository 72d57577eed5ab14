// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.model.WideTypes;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.List;
import java.util.Set;
import org.tensorflow.lite.schema.TensorType;

/**
 * Integers of 32 bits without a sign, whose bits INT32 holds. Sums and products are the same; what
 * depends on their order sees them with the highest bit turned, which INT32 orders as they are.
 */
final class Unsigned {
  private static final int HALF = 16;
  private static final float TWO_31 = 0x1p31f;

  private static final Set<OperationType> ORDERED =
      Set.of(
          OperationCode.LESS,
          OperationCode.LESS_EQUAL,
          OperationCode.GREATER,
          OperationCode.GREATER_EQUAL,
          OperationCode.MAXIMUM,
          OperationCode.MINIMUM);

  private Unsigned() {}

  static boolean is(FlatTensor tensor) {
    return tensor.is(TensorType.UINT32);
  }

  /**
   * Adds an operation on two tensors, if it is another than that of integers with a sign.
   *
   * @return whether that was so
   */
  static boolean convert(Node node, OperationType operation) {
    if (!is(node.input(0))) {
      return false;
    }
    int first = node.in(0);
    int second = node.in(1);
    if (ORDERED.contains(operation)) {
      List<Integer> turned = List.of(turned(node, first), turned(node, second));
      boolean isChoice = node.output(0).is(TensorType.UINT32);
      if (!isChoice) {
        node.emit(operation, turned, node.out(0));
        return true;
      }
      int output = node.out(0);
      int chosen = node.compute(operation, output, turned.get(0), turned.get(1));
      node.emit(ThalamusExtension.BITWISE_XOR, output, chosen, lowest(node));
      return true;
    }
    if (operation == ThalamusExtension.RIGHT_SHIFT) {
      node.alias(0, shifted(node, first, second));
      return true;
    }
    node.require(
        operation != OperationCode.DIV && operation != ThalamusExtension.FLOOR_DIV,
        "it divides UINT32");
    return false;
  }

  private static int lowest(Node node) {
    return node.int32Vector(Integer.MIN_VALUE);
  }

  private static int turned(Node node, int operand) {
    return node.compute(ThalamusExtension.BITWISE_XOR, operand, operand, lowest(node));
  }

  /** By one place, where the sign is turned away, then by the others. */
  private static int shifted(Node node, int first, int by) {
    int operand = node.compute(OperationCode.MAXIMUM, first, first, least(node, by));
    int places = node.compute(OperationCode.MAXIMUM, operand, by, least(node, operand));
    int half = right(node, operand, 1);
    int isBelow = node.compare(OperationCode.LESS, operand, node.int32Vector(0));
    int once = node.compute(OperationCode.SELECT, operand, isBelow, turned(node, half), half);
    int left = node.compute(OperationCode.SUB, operand, places, node.int32Vector(1));
    int moved = node.compute(ThalamusExtension.RIGHT_SHIFT, operand, once, left);
    int isNone = node.compare(OperationCode.LESS_EQUAL, places, node.int32Vector(0));
    return node.compute(OperationCode.SELECT, operand, isNone, operand, moved);
  }

  /** The least integer as often as there are elements, which the maximum spreads others by. */
  private static int least(Node node, int operand) {
    return node.compute(OperationCode.MINIMUM, operand, operand, lowest(node));
  }

  private static int right(Node node, int operand, int by) {
    return node.compute(ThalamusExtension.RIGHT_SHIFT, operand, operand, node.int32Vector(by));
  }

  /** The numbers as reals, of both halves, which are exact: one rounding. */
  static int reals(Node node, int operand) {
    int half = node.int32Vector(1 << HALF);
    int high = right(node, operand, HALF);
    int whole = node.compute(OperationCode.MUL, operand, high, half);
    int low = node.compute(OperationCode.SUB, operand, operand, whole);
    int scaled = high(node, operand);
    return node.compute(OperationCode.ADD, scaled, scaled, real(node, low));
  }

  /** The numbers without their lower halves, as reals. */
  private static int high(Node node, int operand) {
    int half = node.int32Vector(1 << HALF);
    int high = right(node, operand, HALF);
    int isBelow = node.compare(OperationCode.LESS, high, node.int32Vector(0));
    int positive = node.compute(OperationCode.ADD, operand, high, half);
    int unsigned = node.compute(OperationCode.SELECT, operand, isBelow, positive, high);
    int real = real(node, unsigned);
    return node.compute(OperationCode.MUL, real, real, node.number(node.operand(real), 1 << HALF));
  }

  private static int real(Node node, int operand) {
    return node.compute(
        OperationCode.CAST, OperandCode.TENSOR_FLOAT32, node.operand(operand).shape(), operand);
  }

  /** The bits of reals whose fractions are cut off. */
  static int ofReals(Node node, int real) {
    int limit = node.number(node.operand(real), TWO_31);
    int isLarge = node.compare(OperationCode.GREATER_EQUAL, real, limit);
    int rest = node.compute(OperationCode.SUB, real, real, limit);
    int least = node.compute(OperationCode.SELECT, real, isLarge, rest, real);
    int whole =
        node.compute(
            OperationCode.CAST, OperandCode.TENSOR_INT32, node.operand(real).shape(), least);
    return node.compute(OperationCode.SELECT, whole, isLarge, turned(node, whole), whole);
  }

  /** The same numbers with a sign; one that does not fit ends the execution with an error. */
  static int signed(Node node, int operand) {
    Shape shape = node.operand(operand).shape();
    int wide =
        node.compute(ThalamusExtension.CAST, WideTypes.TENSOR_INT64, shape, high(node, operand));
    int checked = node.compute(ThalamusExtension.CAST, node.operand(operand), shape, wide);
    int nothing = node.compute(OperationCode.MUL, operand, checked, node.int32Vector(0));
    return node.compute(OperationCode.ADD, operand, operand, nothing);
  }
}
