// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import org.tensorflow.lite.schema.BucketizeOptions;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Operators whose results are as long as what they find, or say where something is. */
final class Search {
  private Search() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.WHERE, Search::where);
    table.add(BuiltinOperator.UNIQUE, Search::unique);
    table.add(BuiltinOperator.BUCKETIZE, Search::bucketize);
  }

  private static int open(Node node, int output, OperandCode type, int... dimensions) {
    return node.out(output, type, Shape.of(dimensions), Quantization.NONE);
  }

  private static void where(Node node) {
    int rank = node.inOperand(0).shape().rank();
    node.emit(
        ThalamusExtension.NON_ZERO,
        open(node, 0, OperandCode.TENSOR_INT32, 0, rank),
        node.in(0),
        node.bool(false));
  }

  /** How many boundaries are not above each number. */
  private static void bucketize(Node node) {
    BucketizeOptions options = node.options(new BucketizeOptions());
    int length = node.get(options::boundariesLength);
    Shape shape = node.shapeOf(0);
    node.require(
        length > 0 && shape.isFullySpecified(),
        "it has %s boundaries for data of shape %s".formatted(length, shape));
    float[] boundaries = node.constants().room(length, node.output(0));
    for (int i = 0; i < length; i++) {
      int index = i;
      boundaries[i] = node.get(() -> options.boundaries(index));
    }
    int count = Math.toIntExact(shape.elementCount());
    int numbers = Reshape.reshaped(node, reals(node, node.in(0)), Shape.of(count, 1));
    int limits = node.float32Tensor(Shape.of(1, length), boundaries);
    int places =
        Truths.count(node, OperationCode.GREATER_EQUAL, numbers, limits, Shape.of(count, length));
    int output = node.out(0, OperandCode.TENSOR_INT32, shape, Quantization.NONE);
    Reshape.emit(node, places, output);
  }

  private static int reals(Node node, int operand) {
    if (node.operand(operand).type() == OperandCode.TENSOR_FLOAT32) {
      return operand;
    }
    Shape shape = node.operand(operand).shape();
    return node.compute(OperationCode.CAST, OperandCode.TENSOR_FLOAT32, shape, operand);
  }

  private static void unique(Node node) {
    Operand input = node.inOperand(0);
    node.require(
        input.type() == OperandCode.TENSOR_FLOAT32 || input.type() == OperandCode.TENSOR_INT32,
        "it is of " + input.type().text());
    OperandCode type = (OperandCode) input.type();
    int count = node.out(1, OperandCode.TENSOR_INT32, input.shape(), Quantization.NONE);
    node.emit(
        ThalamusExtension.UNIQUE,
        List.of(node.in(0), node.bool(false)),
        List.of(
            open(node, 0, type, 0),
            node.temporary(OperandCode.TENSOR_INT32, Shape.of(0), Quantization.NONE),
            count,
            node.temporary(OperandCode.TENSOR_INT32, Shape.of(0), Quantization.NONE)));
  }
}
