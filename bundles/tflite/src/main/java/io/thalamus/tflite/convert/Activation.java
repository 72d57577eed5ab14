// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.LeakyReluOptions;

/** RELU and its kin, LOGISTIC, TANH. */
final class Activation {
  private static final float LOGISTIC_SCALE = 1f / 256;
  private static final float TANH_SCALE = 1f / 128;

  private Activation() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.RELU, node -> clamp(node, OperationCode.RELU));
    table.add(BuiltinOperator.RELU_N1_TO_1, node -> clamp(node, OperationCode.RELU1));
    table.add(BuiltinOperator.RELU6, node -> clamp(node, OperationCode.RELU6));
    table.add(BuiltinOperator.LOGISTIC, Activation::logistic);
    table.add(BuiltinOperator.TANH, Activation::tanh);
    table.add(
        BuiltinOperator.HARD_SWISH,
        node -> node.emit(OperationCode.HARD_SWISH, List.of(node.in(0)), node.out(0)));
    table.add(BuiltinOperator.ELU, Activation::elu);
    table.add(
        BuiltinOperator.PRELU,
        node -> node.emit(OperationCode.PRELU, List.of(node.in(0), node.in(1)), node.out(0)));
    table.add(BuiltinOperator.LEAKY_RELU, Activation::leakyRelu);
  }

  private static void clamp(Node node, OperationCode code) throws ModelFormatException {
    InFloat.unlessQuantizedAlike(node, (input, output) -> node.emit(code, List.of(input), output));
  }

  private static void logistic(Node node) throws ModelFormatException {
    InFloat.unlessQuantized(
        node,
        LOGISTIC_SCALE,
        0,
        -128,
        (input, output) -> node.emit(OperationCode.LOGISTIC, List.of(input), output));
  }

  private static void tanh(Node node) throws ModelFormatException {
    InFloat.unlessQuantized(
        node,
        TANH_SCALE,
        128,
        0,
        (input, output) -> node.emit(OperationCode.TANH, List.of(input), output));
  }

  private static void elu(Node node) throws ModelFormatException {
    InFloat.unlessQuantized(
        node,
        Float.NaN, // NNAPI has no quantized form
        0,
        0,
        (input, output) ->
            node.emit(
                OperationCode.ELU, List.of(input, node.floatFor(node.operand(input), 1)), output));
  }

  /** PRELU with one slope for all. */
  private static void leakyRelu(Node node) throws ModelFormatException {
    float alpha =
        node.get(node.options(BuiltinOptions.LeakyReluOptions, new LeakyReluOptions())::alpha);
    Operand input = node.inOperand(0);
    int slope =
        InFloat.isQuantized8(input)
            ? quantizedSlope(node, input, alpha)
            : node.builder()
                .constant(
                    "",
                    input.type(),
                    Shape.of(1),
                    Quantization.NONE,
                    new ConstantCopy(floatBytes(input, alpha)));
    node.emit(OperationCode.PRELU, List.of(node.in(0), slope), node.out(0));
  }

  /** Exact in the operand's own quantization: a stored difference of 1 stands for the slope. */
  private static int quantizedSlope(Node node, Operand input, float alpha)
      throws ModelFormatException {
    node.require(alpha != 0 && Float.isFinite(alpha), "its slope is " + alpha);
    int zeroPoint = alpha > 0 ? 0 : 1;
    byte stored = (byte) (alpha > 0 ? 1 : 0);
    return node.builder()
        .constant(
            "",
            input.type(),
            Shape.of(1),
            Quantization.of(Math.abs(alpha), zeroPoint),
            new ConstantCopy(new byte[] {stored}));
  }

  private static byte[] floatBytes(Operand like, float value) {
    boolean half = like.type() == OperandCode.TENSOR_FLOAT16;
    ByteBuffer bytes = ByteBuffer.allocate(half ? 2 : 4).order(ByteOrder.LITTLE_ENDIAN);
    return half
        ? bytes.putShort(Float.floatToFloat16(value)).array()
        : bytes.putFloat(value).array();
  }
}
