// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.util.Arrays;

/** Truth values as numbers, of which NNAPI has no cast. */
final class Truths {
  /** More would take more memory than the network around them. */
  private static final long MOST = 1 << 24;

  private Truths() {}

  /** The result of a comparison that broadcasts to a shape. */
  static int compared(Node node, OperationCode comparison, int first, int second, Shape shape) {
    node.require(shape.elementCount() <= MOST, "it compares numbers in the shape " + shape);
    return node.compute(comparison, OperandCode.TENSOR_BOOL8, shape, first, second);
  }

  /** 1 where a condition holds, else 0. */
  static int reals(Node node, int condition) {
    Shape shape = node.operand(condition).shape();
    int numbers = node.temporary(OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    Operand like = node.operand(numbers);
    node.emit(
        OperationCode.SELECT,
        numbers,
        condition,
        filled(node, like, shape, 1),
        filled(node, like, shape, 0));
    return numbers;
  }

  /** How many of the comparisons along the last axis hold, as integers without that axis. */
  static int count(Node node, OperationCode comparison, int first, int second, Shape shape) {
    int numbers = reals(node, compared(node, comparison, first, second, shape));
    int last = shape.rank() - 1;
    Shape rest = Shape.of(Arrays.copyOf(shape.toArray(), last));
    int sum =
        node.compute(
            OperationCode.REDUCE_SUM,
            node.operand(numbers),
            rest,
            numbers,
            node.int32Vector(last),
            node.bool(false));
    return node.compute(OperationCode.CAST, OperandCode.TENSOR_INT32, rest, sum);
  }

  /** A constant of one element like those of an operand, as it is stored. */
  static int element(Node node, Operand like, double value) {
    byte[] element = Constants.element(like.type(), value);
    return node.constant(like, Shape.of(1), new ConstantCopy(element));
  }

  /** One number in all places of a shape, which takes no memory of the model. */
  static int filled(Node node, Operand like, Shape shape, double value) {
    int number = element(node, like, value);
    if (shape.equals(Shape.of(1))) {
      return number;
    }
    int filled = node.temporary(like, shape);
    Strided.broadcast(node, number, shape, filled);
    return filled;
  }
}
