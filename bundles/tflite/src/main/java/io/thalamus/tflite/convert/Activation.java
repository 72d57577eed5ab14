// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.extension.ThalamusExtension;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.GeluOptions;
import org.tensorflow.lite.schema.LeakyReluOptions;

/** RELU and its kin, LOGISTIC, TANH. */
final class Activation {
  private static final float LOGISTIC_SCALE = 1f / 256;
  private static final float TANH_SCALE = 1f / 128;

  private Activation() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.RELU, node -> clamp(node, OperationCode.RELU, FusedActivation.RELU));
    table.add(
        BuiltinOperator.RELU_N1_TO_1,
        node -> clamp(node, OperationCode.RELU1, FusedActivation.RELU1));
    table.add(
        BuiltinOperator.RELU6, node -> clamp(node, OperationCode.RELU6, FusedActivation.RELU6));
    table.add(
        BuiltinOperator.LOGISTIC,
        node -> curve(node, OperationCode.LOGISTIC, LOGISTIC_SCALE, 0, -128));
    table.add(BuiltinOperator.TANH, node -> curve(node, OperationCode.TANH, TANH_SCALE, 128, 0));
    table.add(BuiltinOperator.HARD_SWISH, OperationCode.HARD_SWISH, 1);
    table.add(BuiltinOperator.ELU, Activation::elu);
    table.add(BuiltinOperator.PRELU, OperationCode.PRELU, 2);
    table.add(BuiltinOperator.LEAKY_RELU, Activation::leakyRelu);
    table.add(BuiltinOperator.RELU_0_TO_1, Activation::clampToOne);
    table.add(BuiltinOperator.GELU, Activation::gelu);
  }

  private static void clamp(Node node, OperationCode code, FusedActivation fused) {
    if (isScaled(node)) {
      Rescale.emit(node, node.in(0), fused, node.out(0));
      return;
    }
    FloatFallback.unlessQuantizedAlike(node, (input, output) -> node.emit(code, output, input));
  }

  /** Returns whether stored integers are brought to another scale on the way. */
  private static boolean isScaled(Node node) {
    return Rescale.isPossible(node.inOperand(0), TensorTypes.quantization(node.output(0)));
  }

  /** A function whose quantized results have one scale, and by type one zero point. */
  private static void curve(Node node, OperationCode code, float scale, int unsigned, int signed) {
    FloatFallback.unlessQuantized(
        node, scale, unsigned, signed, (input, output) -> node.emit(code, output, input));
  }

  private static void elu(Node node) {
    FloatFallback.always(
        node,
        (input, output) ->
            node.emit(OperationCode.ELU, output, input, node.floatFor(node.operand(input), 1)));
  }

  /** PRELU with one slope for all. */
  private static void leakyRelu(Node node) {
    float alpha = node.get(node.options(new LeakyReluOptions())::alpha);
    Operand input = node.inOperand(0);
    int slope =
        FloatFallback.isQuantized8(input)
            ? quantizedSlope(node, input, alpha)
            : node.number(input, alpha);
    node.emit(OperationCode.PRELU, node.out(0), node.in(0), slope);
  }

  /** Exact in the operand's own quantization: a stored difference of 1 stands for the slope. */
  private static int quantizedSlope(Node node, Operand input, float alpha) {
    node.require(alpha != 0 && Float.isFinite(alpha), "its slope is " + alpha);
    int zeroPoint = alpha > 0 ? 0 : 1;
    byte stored = (byte) (alpha > 0 ? 1 : 0);
    return node.constant(
        input.type(),
        Shape.of(1),
        Quantization.of(Math.abs(alpha), zeroPoint),
        new ConstantCopy(new byte[] {stored}));
  }

  /** {@code min(max(x, 0), 1)}. */
  private static void clampToOne(Node node) {
    if (isScaled(node)) {
      int output = node.out(0);
      Operand result = node.operand(output);
      int positive = node.temporary(result, result.shape());
      Rescale.emit(node, node.in(0), FusedActivation.RELU, positive);
      int one =
          FusedActivation.RELU1.range((OperandCode) result.type(), result.quantization()).max();
      int most = node.constant(result, Shape.of(1), new ConstantCopy(new byte[] {(byte) one}));
      node.emit(OperationCode.MINIMUM, output, positive, most);
      return;
    }
    FloatFallback.always(
        node,
        (input, output) -> {
          int positive = node.compute(OperationCode.RELU, input, input);
          int one = node.number(node.operand(input), 1);
          node.emit(OperationCode.MINIMUM, output, positive, one);
        });
  }

  /** {@code x / 2 * (1 + erf(x / sqrt(2)))}, or its approximation by TANH. */
  private static void gelu(Node node) {
    boolean approximate = node.get(node.options(new GeluOptions())::approximate);
    FloatFallback.always(
        node,
        (input, output) -> {
          Operand data = node.operand(input);
          int curve =
              approximate
                  ? node.compute(OperationCode.TANH, input, tanhArgument(node, input))
                  : node.compute(
                      ThalamusExtension.ERF,
                      input,
                      product(node, input, node.number(data, (float) Math.sqrt(0.5))));
          int above = sum(node, curve, node.number(data, 1));
          int half = product(node, input, node.number(data, 0.5f));
          node.emit(OperationCode.MUL, output, half, above);
        });
  }

  /** {@code sqrt(2 / pi) * (x + 0.044715 * x^3)}. */
  private static int tanhArgument(Node node, int input) {
    Operand data = node.operand(input);
    int cube = product(node, product(node, input, input), input);
    int sum = sum(node, input, product(node, cube, node.number(data, 0.044715f)));
    return product(node, sum, node.number(data, (float) Math.sqrt(2 / Math.PI)));
  }

  private static int sum(Node node, int a, int b) {
    return node.compute(OperationCode.ADD, a, a, b);
  }

  private static int product(Node node, int a, int b) {
    return node.compute(OperationCode.MUL, a, a, b);
  }
}
