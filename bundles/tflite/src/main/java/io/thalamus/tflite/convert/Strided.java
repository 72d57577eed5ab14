// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;

/**
 * AS_STRIDED of the extension io.thalamus, for moves of elements that NNAPI has for some types only
 * and for up to four dimensions.
 */
final class Strided {
  private static final int MAX_RANK = 4;

  private Strided() {}

  /** Returns whether NNAPI 1.3 has no RESHAPE, TRANSPOSE or STRIDED_SLICE for such data. */
  static boolean isBeyond(Operand data) {
    return data.type() == OperandCode.TENSOR_INT32
        || data.type() == OperandCode.TENSOR_BOOL8
        || data.type() == OperandCode.TENSOR_QUANT16_SYMM
        || data.shape().rank() > MAX_RANK;
  }

  /** Adds the operation; what it makes has the shape of its output. */
  static void emit(Node node, int input, Shape shape, long offset, long[] strides, int output) {
    node.require(
        shape.isFullySpecified() && node.operand(input).shape().isFullySpecified(),
        "it moves data of shape " + node.operand(input).shape() + ", not known beforehand");
    node.emit(
        ThalamusExtension.AS_STRIDED,
        output,
        input,
        node.int32Vector(shape.toArray()),
        node.int32Vector(Arrays.stream(strides).mapToInt(Math::toIntExact).toArray()),
        node.int32(Math.toIntExact(offset)));
  }

  /** The same elements in another shape. */
  static void reshape(Node node, int input, Shape shape, int output) {
    emit(node, input, shape, 0, StridedCopy.strides(shape), output);
  }

  /** The elements in as many dimensions as it takes to find them, and in a shape with fewer. */
  static void spread(Node node, int input, int[] sizes, long[] strides, Shape shape, int output) {
    int places = node.temporary(node.operand(input), Shape.of(sizes));
    emit(node, input, Shape.of(sizes), 0, strides, places);
    reshape(node, places, shape, output);
  }

  /** The dimensions in another order. */
  static int permuted(Node node, int input, int... order) {
    Shape shape = node.operand(input).shape();
    long[] strides = StridedCopy.strides(shape);
    Shape permuted = Shape.of(Arrays.stream(order).map(shape::dimension).toArray());
    int result = node.temporary(node.operand(input), permuted);
    emit(
        node,
        input,
        permuted,
        0,
        Arrays.stream(order).mapToLong(i -> strides[i]).toArray(),
        result);
    return result;
  }

  /** The elements of a tensor repeated to a larger shape. */
  static void broadcast(Node node, int input, Shape shape, int output) {
    Shape source = node.operand(input).shape();
    int added = shape.rank() - source.rank();
    node.require(added >= 0, source + " does not broadcast to " + shape);
    long[] dense = StridedCopy.strides(source);
    long[] strides = new long[shape.rank()];
    for (int i = added; i < strides.length; i++) {
      int own = source.dimension(i - added);
      node.require(
          own == 1 || own == shape.dimension(i), source + " does not broadcast to " + shape);
      strides[i] = own == 1 ? 0 : dense[i - added];
    }
    emit(node, input, shape, 0, strides, output);
  }
}
