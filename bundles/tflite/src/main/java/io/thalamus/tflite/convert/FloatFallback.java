// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.tflite.file.FlatTensor;
import java.util.Set;
import org.tensorflow.lite.schema.BuiltinOperator;

/**
 * Operations whose quantized form NNAPI ties to one quantization of the output, where the file has
 * another: they are computed in floating point, between DEQUANTIZE and QUANTIZE.
 */
final class FloatFallback {
  /** Operators that change or pass on the elements as they are stored. */
  static final Set<Integer> STORED =
      Set.of(
          BuiltinOperator.BITCAST,
          BuiltinOperator.CALL_ONCE,
          BuiltinOperator.CAST,
          BuiltinOperator.DEQUANTIZE,
          BuiltinOperator.IF,
          BuiltinOperator.QUANTIZE,
          BuiltinOperator.WHILE);

  private FloatFallback() {}

  /** Adds the operation from an operand to an operand. */
  @FunctionalInterface
  interface Unary {
    void emit(int input, int output);
  }

  /** An operation whose output must be quantized as its input. */
  static void unlessQuantizedAlike(Node node, Unary operation) {
    int input = node.in(0);
    unless(node, node.operand(input).quantization(), operation);
  }

  /**
   * An operation whose output must have a given scale and, by type, a zero point.
   *
   * @param unsigned the zero point of TENSOR_QUANT8_ASYMM
   * @param signed the zero point of TENSOR_QUANT8_ASYMM_SIGNED
   */
  static void unlessQuantized(Node node, float scale, int unsigned, int signed, Unary operation) {
    boolean isSigned = node.inOperand(0).type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    unless(node, Quantization.of(scale, isSigned ? signed : unsigned), operation);
  }

  /** An operation that NNAPI has for floats only. */
  static void always(Node node, Unary operation) {
    unlessQuantized(node, Float.NaN, 0, 0, operation);
  }

  private static void unless(Node node, Quantization wanted, Unary operation) {
    int input = node.in(0);
    int output = node.out(0);
    Operand source = node.operand(input);
    Operand target = node.operand(output);
    if (!isQuantized8(source) || target.quantization().equals(wanted)) {
      operation.emit(input, output);
      return;
    }
    int real = dequantized(node, input);
    int result = node.temporary(OperandCode.TENSOR_FLOAT32, target.shape(), Quantization.NONE);
    operation.emit(real, result);
    node.emit(OperationCode.QUANTIZE, output, result);
  }

  /** The real values of a quantized operand, computed; a float operand as it is. */
  static int dequantized(Node node, int operand) {
    Operand source = node.operand(operand);
    if (!isQuantized8(source)) {
      return operand;
    }
    return node.compute(
        OperationCode.DEQUANTIZE, OperandCode.TENSOR_FLOAT32, source.shape(), operand);
  }

  /** Returns whether an operator on quantized numbers may be one on those that they stand for. */
  static boolean isPossible(Node node) {
    if (STORED.contains(node.operator().kind().code())) {
      return false;
    }
    boolean anyQuantized = false;
    for (int i = 0; i < node.inputCount(); i++) {
      anyQuantized |= node.has(i) && isQuantized(node.input(i));
    }
    for (int i = 0; i < node.outputCount(); i++) {
      anyQuantized |= isQuantized(node.output(i));
    }
    return anyQuantized;
  }

  /** Returns whether a tensor is quantized to 8 bits. */
  static boolean isQuantized(FlatTensor tensor) {
    return tensor.is8Bit() && tensor.scales().length > 0;
  }

  /** Returns whether an operand is quantized to 8 bits, signed or not. */
  static boolean isQuantized8(Operand operand) {
    return operand.type() == OperandCode.TENSOR_QUANT8_ASYMM
        || operand.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
  }
}
