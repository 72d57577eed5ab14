// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.file.FlatTensor;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Changes of an element's representation. */
final class Quantize {
  private Quantize() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.QUANTIZE, Quantize::quantize);
    table.add(BuiltinOperator.DEQUANTIZE, Quantize::dequantize);
    table.add(
        BuiltinOperator.CAST,
        node -> node.emit(OperationCode.CAST, List.of(node.in(0)), node.out(0)));
  }

  /** From one quantization to another through real numbers, since NNAPI has no direct way. */
  private static void quantize(Node node) throws ModelFormatException {
    int real = InFloat.dequantized(node, node.in(0));
    node.emit(OperationCode.QUANTIZE, List.of(real), node.out(0));
  }

  /** Of a constant, it is done here: weights that were only stored small become floats. */
  private static void dequantize(Node node) throws ModelFormatException {
    FlatTensor input = node.input(0);
    if (input.isConstant()) {
      node.alias(0, node.inFloats(0));
      return;
    }
    Operand data = node.inOperand(0);
    OperationCode code =
        data.type() == OperandCode.TENSOR_FLOAT16 ? OperationCode.CAST : OperationCode.DEQUANTIZE;
    node.emit(code, List.of(node.in(0)), node.out(0));
  }
}
