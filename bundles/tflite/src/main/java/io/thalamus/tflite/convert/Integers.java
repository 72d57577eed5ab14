// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Arithmetic of integers as TensorFlow Lite has it, where NNAPI has it for reals or otherwise. */
final class Integers {
  private static final int NO_ACTIVATION = 0;

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
  static void divide(Node node, int first, int second, int output) throws ModelFormatException {
    int zero = node.int32Vector(0);
    int isFirstBelow = compared(node, OperationCode.LESS, first, zero);
    int isSecondBelow = compared(node, OperationCode.LESS, second, zero);
    Shape shape = node.operand(output).shape();
    int isNegative = node.temporary(OperandCode.TENSOR_BOOL8, shape, Quantization.NONE);
    node.emit(OperationCode.NOT_EQUAL, List.of(isFirstBelow, isSecondBelow), isNegative);
    int none = node.int32(NO_ACTIVATION);
    int size =
        node.compute(
            OperationCode.DIV,
            output,
            node.compute(OperationCode.ABS, first, first),
            node.compute(OperationCode.ABS, second, second),
            none);
    int turned = node.compute(OperationCode.SUB, output, zero, size, none);
    node.emit(OperationCode.SELECT, List.of(isNegative, turned, size), output);
  }

  private static int compared(Node node, OperationCode code, int first, int second)
      throws ModelFormatException {
    Shape shape = node.operand(first).shape();
    int result = node.temporary(OperandCode.TENSOR_BOOL8, shape, Quantization.NONE);
    node.emit(code, List.of(first, second), result);
    return result;
  }

  /** Returns whether a reduction of integers can be done here. */
  static boolean reduces(Operand data, OperationCode code) {
    return isInteger(data) && PAIRS.containsKey(code);
  }

  /** A reduction by halves: the first half with the second, until one is left. */
  static void reduce(Node node, OperationCode code, int input, int[] axes, int output)
      throws ModelFormatException {
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

  private static int pair(Node node, OperationCode code, int first, int second)
      throws ModelFormatException {
    OperationCode operation = PAIRS.get(code);
    boolean isFused = operation == OperationCode.ADD || operation == OperationCode.MUL;
    return isFused
        ? node.compute(operation, first, first, second, node.int32(NO_ACTIVATION))
        : node.compute(operation, first, first, second);
  }

  private static int joined(Node node, int first, int second, int rows, int width)
      throws ModelFormatException {
    int all = node.temporary(node.operand(first), Shape.of(rows, width));
    node.emit(ThalamusExtension.CONCATENATION, List.of(first, second, node.int32(0)), all);
    return all;
  }

  private static int part(Node node, int rows, int from, int count, int width)
      throws ModelFormatException {
    Shape shape = Shape.of(count, width);
    if (node.operand(rows).shape().equals(shape)) {
      return rows;
    }
    int part = node.temporary(node.operand(rows), shape);
    Strided.emit(node, rows, shape, (long) from * width, new long[] {width, 1}, part);
    return part;
  }
}
