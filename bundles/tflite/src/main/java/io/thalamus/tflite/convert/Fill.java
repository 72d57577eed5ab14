// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Operators that make a larger tensor of one element or of a smaller tensor. */
final class Fill {
  private Fill() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.FILL, Fill::fill);
    table.add(BuiltinOperator.ZEROS_LIKE, Fill::zeros);
    table.add(BuiltinOperator.BROADCAST_TO, Fill::broadcast);
  }

  /**
   * Of a constant that is stored as its operand it becomes a constant; NNAPI's own FILL takes fewer
   * types.
   */
  private static void fill(Node node) {
    FlatTensor value = node.input(1);
    int element = node.in(1);
    Operand operand = node.operand(element);
    node.require(
        operand.shape().isFullySpecified() && operand.shape().elementCount() == 1,
        "it fills with a tensor of shape " + operand.shape());
    if (!node.isKnown(0)) {
      fillComputed(node, 0, Reshape.reshaped(node, element, Shape.of(1)));
      return;
    }
    Shape shape = shape(node, 0);
    byte[] bytes = value.isConstant() ? node.constants().copy(value.data()) : new byte[0];
    if (bytes.length == operand.type().elementSize()) {
      constant(node, operand, shape, bytes);
    } else {
      Strided.emit(node, element, shape, 0, new long[shape.rank()], node.out(0));
    }
  }

  /** A shape that only an execution determines is filled with ones, and these multiplied. */
  private static void fillComputed(Node node, int input, int element) {
    Operand value = node.operand(element);
    boolean isReal = value.type() == OperandCode.TENSOR_FLOAT32;
    Shape sizes = node.shapeOf(input);
    node.require(
        (isReal || value.type() == OperandCode.TENSOR_INT32)
            && sizes.rank() == 1
            && sizes.isFullySpecified(),
        "it fills a computed shape with " + value.type().text());
    Shape open = Shape.of(new int[sizes.dimension(0)]);
    int ones =
        node.compute(
            OperationCode.FILL,
            value,
            open,
            node.in(input),
            isReal ? node.float32(1) : node.int32(1));
    node.emit(
        OperationCode.MUL,
        node.out(0, (OperandCode) value.type(), open, Quantization.NONE),
        ones,
        element);
  }

  /** Zeros as real numbers: what is quantized has its zero point. */
  private static void zeros(Node node) {
    Operand like = node.inOperand(0);
    node.require(
        like.shape().isFullySpecified(), "the shape " + like.shape() + " is not known beforehand");
    byte[] element = new byte[like.type().elementSize()];
    if (element.length == 1) {
      element[0] = (byte) like.quantization().zeroPoint();
    }
    constant(node, like, like.shape(), element);
  }

  private static void constant(Node node, Operand like, Shape shape, byte[] element) {
    node.alias(
        0, node.constant(like, shape, node.constants().filled(shape, element, node.output(0))));
  }

  private static void broadcast(Node node) {
    int input = node.in(0);
    if (!node.isKnown(1)) {
      fillComputed(node, 1, input);
      return;
    }
    Shape shape = shape(node, 1);
    if (node.operand(input).shape().equals(shape)) {
      node.alias(0, input);
      return;
    }
    Strided.broadcast(node, input, shape, node.out(0));
  }

  private static Shape shape(Node node, int input) {
    int[] dimensions = node.ints(input);
    for (int dimension : dimensions) {
      node.require(dimension > 0, "its shape has a dimension of " + dimension);
    }
    return dimensions.length == 0 ? Shape.of(1) : Shape.of(dimensions);
  }
}
