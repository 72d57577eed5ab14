// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.extension.ThalamusExtension;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.GeluOptions;
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
    table.add(BuiltinOperator.RELU_0_TO_1, Activation::clampToOne);
    table.add(BuiltinOperator.GELU, Activation::gelu);
  }

  private static void clamp(Node node, OperationCode code) throws ModelFormatException {
    FloatFallback.unlessQuantizedAlike(
        node, (input, output) -> node.emit(code, List.of(input), output));
  }

  private static void logistic(Node node) throws ModelFormatException {
    FloatFallback.unlessQuantized(
        node,
        LOGISTIC_SCALE,
        0,
        -128,
        (input, output) -> node.emit(OperationCode.LOGISTIC, List.of(input), output));
  }

  private static void tanh(Node node) throws ModelFormatException {
    FloatFallback.unlessQuantized(
        node,
        TANH_SCALE,
        128,
        0,
        (input, output) -> node.emit(OperationCode.TANH, List.of(input), output));
  }

  private static void elu(Node node) throws ModelFormatException {
    FloatFallback.unlessQuantized(
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
        FloatFallback.isQuantized8(input)
            ? quantizedSlope(node, input, alpha)
            : number(node, input, alpha);
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

  /** {@code min(max(x, 0), 1)}. */
  private static void clampToOne(Node node) throws ModelFormatException {
    FloatFallback.unlessQuantized(
        node,
        Float.NaN, // NNAPI has no quantized form
        0,
        0,
        (input, output) -> {
          Operand data = node.operand(input);
          int positive = node.temporary(data, data.shape());
          node.emit(OperationCode.RELU, List.of(input), positive);
          node.emit(OperationCode.MINIMUM, List.of(positive, number(node, data, 1)), output);
        });
  }

  /** {@code x / 2 * (1 + erf(x / sqrt(2)))}, or its approximation by TANH. */
  private static void gelu(Node node) throws ModelFormatException {
    boolean approximate =
        node.get(node.options(BuiltinOptions.GeluOptions, new GeluOptions())::approximate);
    FloatFallback.unlessQuantized(
        node,
        Float.NaN, // NNAPI has no quantized form
        0,
        0,
        (input, output) -> {
          Operand data = node.operand(input);
          int curve = node.temporary(data, data.shape());
          if (approximate) {
            node.emit(OperationCode.TANH, List.of(tanhArgument(node, input)), curve);
          } else {
            int scaled = product(node, input, number(node, data, (float) Math.sqrt(0.5)));
            node.emit(ThalamusExtension.ERF, List.of(scaled), curve);
          }
          int above = node.temporary(data, data.shape());
          node.emit(OperationCode.ADD, List.of(curve, number(node, data, 1), node.int32(0)), above);
          int half = product(node, input, number(node, data, 0.5f));
          node.emit(OperationCode.MUL, List.of(half, above, node.int32(0)), output);
        });
  }

  /** {@code sqrt(2 / pi) * (x + 0.044715 * x^3)}. */
  private static int tanhArgument(Node node, int input) throws ModelFormatException {
    Operand data = node.operand(input);
    int cube = product(node, product(node, input, input), input);
    int added = product(node, cube, number(node, data, 0.044715f));
    int sum = node.temporary(data, data.shape());
    node.emit(OperationCode.ADD, List.of(input, added, node.int32(0)), sum);
    return product(node, sum, number(node, data, (float) Math.sqrt(2 / Math.PI)));
  }

  private static int product(Node node, int a, int b) throws ModelFormatException {
    Operand data = node.operand(a);
    int product = node.temporary(data, data.shape());
    node.emit(OperationCode.MUL, List.of(a, b, node.int32(0)), product);
    return product;
  }

  /** A constant of one element in the precision of an operand. */
  static int number(Node node, Operand like, float value) {
    return node.builder()
        .constant(
            "",
            like.type(),
            Shape.of(1),
            Quantization.NONE,
            new ConstantCopy(floatBytes(like, value)));
  }

  private static byte[] floatBytes(Operand like, float value) {
    boolean half = like.type() == OperandCode.TENSOR_FLOAT16;
    ByteBuffer bytes = ByteBuffer.allocate(half ? 2 : 4).order(ByteOrder.LITTLE_ENDIAN);
    return half
        ? bytes.putShort(Float.floatToFloat16(value)).array()
        : bytes.putFloat(value).array();
  }
}
