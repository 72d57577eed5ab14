// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Operators whose results are as long as what they find. */
final class Search {
  private Search() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.WHERE, Search::where);
    table.add(BuiltinOperator.UNIQUE, Search::unique);
  }

  private static int open(Node node, int output, OperandCode type, int... dimensions)
      throws ModelFormatException {
    return node.out(output, type, Shape.of(dimensions), Quantization.NONE);
  }

  private static void where(Node node) throws ModelFormatException {
    int rank = node.inOperand(0).shape().rank();
    node.emit(
        ThalamusExtension.NON_ZERO,
        List.of(node.in(0), node.bool(false)),
        open(node, 0, OperandCode.TENSOR_INT32, 0, rank));
  }

  private static void unique(Node node) throws ModelFormatException {
    Operand input = node.inOperand(0);
    OperandCode type = TensorTypes.code(node.input(0));
    node.require(
        type == OperandCode.TENSOR_FLOAT32 || type == OperandCode.TENSOR_INT32, "it is of " + type);
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
