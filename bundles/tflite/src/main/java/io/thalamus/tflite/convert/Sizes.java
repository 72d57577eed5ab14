// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** Operators whose inputs say how large their results are: RANGE, BROADCAST_ARGS, FILL. */
final class Sizes {

  /** The shape of what has no sizes. */
  private static final int[] SCALAR = {0};

  private Sizes() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.RANGE, Sizes::range);
    table.add(BuiltinOperator.BROADCAST_ARGS, Sizes::broadcastArguments);
  }

  /** Numbers from one on, by a step. */
  private static void range(Node node) {
    int start = vector(node, 0);
    int limit = vector(node, 1);
    int step = vector(node, 2);
    boolean isReal = node.input(0).is(TensorType.FLOAT32);
    if (isReal
        && node.isKnown(0)
        && node.isKnown(1)
        && node.isKnown(2)
        && known(node, node.floats(0)[0], node.floats(1)[0], node.floats(2)[0])) {
      return;
    }
    int count = isReal ? countOfReals(node, start, limit, step) : count(node, start, limit, step);
    int places = counted(node, count);
    OperandCode type = isReal ? OperandCode.TENSOR_FLOAT32 : OperandCode.TENSOR_INT32;
    if (isReal) {
      int reals = node.compute(OperationCode.CAST, type, Shape.of(0), places);
      places = reals;
    }
    int steps = node.compute(OperationCode.MUL, type, Shape.of(0), places, step);
    node.emit(OperationCode.ADD, node.out(0, type, Shape.of(0), Quantization.NONE), steps, start);
  }

  /** The numbers from 0 on, as many as an execution tells. */
  static int counted(Node node, int count) {
    int ones =
        node.compute(
            OperationCode.FILL, OperandCode.TENSOR_INT32, Shape.of(0), count, node.int32(1));
    return places(node, ones);
  }

  /**
   * The places of all elements of a row of which none is 0 or false: {@code NON_ZERO} gives them as
   * {@code [1, count]}, of which {@code GATHER_ND} takes the only row.
   */
  static int places(Node node, int ones) {
    int row =
        node.compute(
            ThalamusExtension.NON_ZERO,
            OperandCode.TENSOR_INT32,
            Shape.of(1, 0),
            ones,
            node.bool(true));
    int places =
        node.compute(
            ThalamusExtension.GATHER_ND,
            OperandCode.TENSOR_INT32,
            Shape.of(0),
            row,
            node.int32Vector(0));
    return places;
  }

  /** A vector of integers without elements. */
  static int nothing(Node node) {
    return places(node, node.int32Vector(0));
  }

  /** Returns false if there are no numbers, which no constant can be. */
  private static boolean known(Node node, float start, float limit, float step) {
    double count = Math.ceil(Math.abs((limit - start) / step));
    node.require(
        count >= 0 && count <= Integer.MAX_VALUE,
        "it counts from %s to %s by %s".formatted(start, limit, step));
    if (count == 0) {
      return false;
    }
    float[] values = node.constants().room((long) count, node.output(0));
    for (int i = 0; i < values.length; i++) {
      values[i] = start + i * step;
    }
    node.alias(0, node.float32Tensor(Shape.of(values.length), values));
    return true;
  }

  /** One number as a vector. */
  private static int vector(Node node, int input) {
    Operand operand = node.inOperand(input);
    node.require(
        operand.type() == OperandCode.TENSOR_INT32 || operand.type() == OperandCode.TENSOR_FLOAT32,
        "it counts in " + operand.type().text());
    node.require(
        operand.shape().isFullySpecified() && operand.shape().elementCount() == 1,
        node.input(input).text() + " is not one number");
    return Reshape.reshaped(node, node.in(input), Shape.of(1));
  }

  /** {@code max(0, -floor((start - limit) / step))}, which rounds up. */
  private static int count(Node node, int start, int limit, int step) {
    int zero = node.int32Vector(0);
    int back = node.compute(OperationCode.SUB, start, start, limit);
    int below = node.compute(ThalamusExtension.FLOOR_DIV, start, back, step);
    int count = node.compute(OperationCode.SUB, start, zero, below);
    return node.compute(OperationCode.MAXIMUM, start, count, zero);
  }

  private static int countOfReals(Node node, int start, int limit, int step) {
    int back = node.compute(OperationCode.SUB, start, start, limit);
    int below =
        node.compute(
            OperationCode.FLOOR, start, node.compute(OperationCode.DIV, start, back, step));
    int count =
        node.compute(
            OperationCode.CAST,
            OperandCode.TENSOR_INT32,
            Shape.of(1),
            node.compute(OperationCode.NEG, start, below));
    return node.compute(OperationCode.MAXIMUM, count, count, node.int32Vector(0));
  }

  /** The shape to which two shapes broadcast: of each pair of sizes the one that is not 1. */
  private static void broadcastArguments(Node node) {
    for (int input = 0; input < 2; input++) {
      if (Arrays.equals(node.input(input).shape(), SCALAR)) {
        node.alias(0, node.in(1 - input));
        return;
      }
    }
    int rank = Math.max(length(node, 0), length(node, 1));
    int first = extended(node, 0, rank);
    int second = extended(node, 1, rank);
    int isOne =
        node.compute(
            OperationCode.EQUAL,
            OperandCode.TENSOR_BOOL8,
            Shape.of(rank),
            first,
            node.int32Vector(1));
    node.emit(OperationCode.SELECT, node.out(0), isOne, second, first);
  }

  private static int length(Node node, int input) {
    Shape shape = node.shapeOf(input);
    node.require(
        shape.rank() == 1 && shape.isFullySpecified(),
        node.input(input).text() + " of shape " + shape + " is no shape");
    return shape.dimension(0);
  }

  /** Sizes with ones before them. */
  private static int extended(Node node, int input, int rank) {
    int missing = rank - length(node, input);
    if (missing == 0) {
      return node.in(input);
    }
    int ones = node.int32Vector(1);
    Operand like = node.inOperand(input);
    int more = node.temporary(like, Shape.of(missing));
    Strided.broadcast(node, ones, Shape.of(missing), more);
    return node.compute(
        ThalamusExtension.CONCATENATION, like, Shape.of(rank), more, node.in(input), node.int32(0));
  }
}
