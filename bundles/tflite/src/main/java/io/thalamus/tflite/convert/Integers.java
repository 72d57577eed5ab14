// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.ActivationFunctionType;

/** Arithmetic of integers as TensorFlow Lite has it, where NNAPI has it for reals or otherwise. */
final class Integers {
  private static final int BITS_OF_EXPONENT = 5;

  /** The operation on two tensors that a reduction repeats. */
  private static final Map<OperationCode, OperationCode> PAIRS =
      Map.of(
          OperationCode.REDUCE_SUM, OperationCode.ADD,
          OperationCode.REDUCE_PROD, OperationCode.MUL,
          OperationCode.REDUCE_MAX, OperationCode.MAXIMUM,
          OperationCode.REDUCE_MIN, OperationCode.MINIMUM);

  private Integers() {}

  static boolean isInteger(Operand operand) {
    return operand.type() == OperandCode.TENSOR_INT32;
  }

  /** A quotient whose fraction is cut off; NNAPI rounds it down. */
  static void divide(Node node, int first, int second, int output) {
    int zero = node.int32Vector(0);
    int isFirstBelow = node.compare(OperationCode.LESS, first, zero);
    int isSecondBelow = node.compare(OperationCode.LESS, second, zero);
    Shape shape = node.operand(output).shape();
    int isNegative =
        node.compute(
            OperationCode.NOT_EQUAL, OperandCode.TENSOR_BOOL8, shape, isFirstBelow, isSecondBelow);
    int size =
        node.compute(
            OperationCode.DIV,
            output,
            node.compute(OperationCode.ABS, first, first),
            node.compute(OperationCode.ABS, second, second));
    int turned = node.compute(OperationCode.SUB, output, zero, size);
    node.emit(OperationCode.SELECT, output, isNegative, turned, size);
  }

  /** Writes integers through an activation, which NNAPI fuses with operations on reals only. */
  static void activated(Node node, byte activation, int output, IntConsumer emission) {
    if (node.fused(activation) == 0) {
      emission.accept(output);
      return;
    }
    Operand like = node.operand(output);
    int least = activation == ActivationFunctionType.RELU_N1_TO_1 ? -1 : 0;
    int result = node.temporary(like, like.shape());
    emission.accept(result);
    if (activation == ActivationFunctionType.RELU) {
      node.emit(OperationCode.MAXIMUM, output, result, node.int32Vector(least));
      return;
    }
    int most = activation == ActivationFunctionType.RELU6 ? 6 : 1;
    int limited = node.compute(OperationCode.MAXIMUM, result, result, node.int32Vector(least));
    node.emit(OperationCode.MINIMUM, output, limited, node.int32Vector(most));
  }

  /** Returns whether a reduction of integers can be done here. */
  static boolean reduces(Operand data, OperationCode code) {
    return isInteger(data) && PAIRS.containsKey(code);
  }

  /** A reduction by halves: the first half with the second, until one is left. */
  static void reduce(Node node, OperationCode code, int input, int[] axes, int output) {
    Shape shape = node.operand(input).shape();
    node.require(
        shape.isFullySpecified(), "it reduces data of shape " + shape + ", not known beforehand");
    long[] strides = StridedCopy.strides(shape);
    int[] order =
        IntStream.concat(
                Arrays.stream(axes),
                IntStream.range(0, shape.rank())
                    .filter(axis -> Arrays.stream(axes).noneMatch(reduced -> reduced == axis)))
            .toArray();
    Shape turned = Shape.of(Arrays.stream(order).map(shape::dimension).toArray());
    int left = 1;
    for (int axis : axes) {
      left = Math.multiplyExact(left, shape.dimension(axis));
    }
    int width = Math.toIntExact(shape.elementCount() / left);
    int first = node.temporary(node.operand(input), turned);
    Strided.emit(
        node,
        input,
        turned,
        0,
        Arrays.stream(order).mapToLong(axis -> strides[axis]).toArray(),
        first);
    int rows = node.temporary(node.operand(input), Shape.of(left, width));
    Strided.reshape(node, first, node.operand(rows).shape(), rows);
    while (left > 1) {
      int half = left / 2;
      int sum =
          pair(node, code, part(node, rows, 0, half, width), part(node, rows, half, half, width));
      if (left % 2 != 0) {
        int head =
            pair(node, code, part(node, sum, 0, 1, width), part(node, rows, left - 1, 1, width));
        sum =
            half == 1 ? head : joined(node, head, part(node, sum, 1, half - 1, width), half, width);
      }
      rows = sum;
      left = half;
    }
    Reshape.emit(node, rows, output);
  }

  /** The sum by the number of its parts, without a fraction. */
  static void mean(Node node, int input, int[] axes, int output) {
    Operand data = node.operand(input);
    int count = 1;
    for (int axis : axes) {
      count = Math.multiplyExact(count, data.shape().dimension(axis));
    }
    node.require(count > 0, "it reduces data of shape " + data.shape() + ", not known beforehand");
    int sum = node.temporary(data, node.operand(output).shape());
    reduce(node, OperationCode.REDUCE_SUM, input, axes, sum);
    divide(node, sum, node.int32Vector(count), output);
  }

  /**
   * A power bit by bit of the exponent, which is not negative. From 32 on all but -1, 0 and 1 are
   * beyond 32 bits: for these only it counts whether an exponent is even.
   */
  static void power(Node node, int base, int exponent, int output) {
    int two = node.int32Vector(2);
    int one = node.int32Vector(1);
    int past =
        node.compute(
            ThalamusExtension.FLOOR_DIV,
            exponent,
            node.compute(OperationCode.SUB, exponent, exponent, node.int32Vector(30)),
            two);
    int pairs = node.compute(OperationCode.MAXIMUM, exponent, past, node.int32Vector(0));
    int even = node.compute(OperationCode.MUL, exponent, pairs, two);
    int left = node.compute(OperationCode.SUB, exponent, exponent, even);
    int square = base;
    int result = -1;
    for (int bit = 0; bit < BITS_OF_EXPONENT; bit++) {
      int half = node.compute(ThalamusExtension.FLOOR_DIV, exponent, left, two);
      int whole = node.compute(OperationCode.MUL, exponent, half, two);
      int isSet = node.compute(OperationCode.SUB, exponent, left, whole);
      int more = node.compute(OperationCode.SUB, base, square, one);
      int added = node.compute(OperationCode.MUL, output, more, isSet);
      int factor = node.compute(OperationCode.ADD, output, added, one);
      boolean isLast = bit == BITS_OF_EXPONENT - 1;
      if (isLast) {
        node.emit(OperationCode.MUL, output, result, factor);
      } else {
        result = result < 0 ? factor : node.compute(OperationCode.MUL, output, result, factor);
        left = half;
        square = node.compute(OperationCode.MUL, base, square, square);
      }
    }
  }

  private static int pair(Node node, OperationCode code, int first, int second) {
    return node.compute(PAIRS.get(code), first, first, second);
  }

  private static int joined(Node node, int first, int second, int rows, int width) {
    return node.compute(
        ThalamusExtension.CONCATENATION,
        node.operand(first),
        Shape.of(rows, width),
        first,
        second,
        node.int32(0));
  }

  private static int part(Node node, int rows, int from, int count, int width) {
    Shape shape = Shape.of(count, width);
    if (node.operand(rows).shape().equals(shape)) {
      return rows;
    }
    int part = node.temporary(node.operand(rows), shape);
    Strided.emit(node, rows, shape, (long) from * width, new long[] {width, 1}, part);
    return part;
  }
}
