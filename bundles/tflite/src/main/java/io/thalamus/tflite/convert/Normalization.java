// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.tflite.convert.FloatFallback.Unary;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.L2NormOptions;
import org.tensorflow.lite.schema.LocalResponseNormalizationOptions;

/** Normalization along the last dimension. */
final class Normalization {
  private static final float L2_SCALE = 1f / 128;

  private Normalization() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.L2_NORMALIZATION, Normalization::l2);
    table.add(BuiltinOperator.LOCAL_RESPONSE_NORMALIZATION, Normalization::localResponse);
  }

  private static void l2(Node node) {
    L2NormOptions options = node.options(new L2NormOptions());
    node.require(
        node.get(options::fusedActivationFunction) == ActivationFunctionType.NONE,
        "it has a fused activation, which NNAPI does not have here");
    Unary normalization =
        (input, output) -> node.emit(OperationCode.L2_NORMALIZATION, output, input);
    if (node.inOperand(0).type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED) {
      // TensorFlow Lite rounds signed results once, as floats are, and others and NNAPI twice.
      FloatFallback.always(node, normalization);
    } else {
      FloatFallback.unlessQuantized(node, L2_SCALE, 128, 0, normalization);
    }
  }

  private static void localResponse(Node node) {
    LocalResponseNormalizationOptions options =
        node.options(new LocalResponseNormalizationOptions());
    int input = node.in(0);
    Operand data = node.operand(input);
    node.emit(
        OperationCode.LOCAL_RESPONSE_NORMALIZATION,
        node.out(0),
        input,
        node.int32(node.get(options::radius)),
        node.floatFor(data, node.get(options::bias)),
        node.floatFor(data, node.get(options::alpha)),
        node.floatFor(data, node.get(options::beta)));
  }
}
