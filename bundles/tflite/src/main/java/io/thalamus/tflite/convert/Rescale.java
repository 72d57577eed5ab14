// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;

/**
 * Stored integers of 8 bits in another scale: a product with one. TensorFlow Lite brings them there
 * as its products do, in integers, which real numbers between DEQUANTIZE and QUANTIZE would not.
 */
final class Rescale {
  /** An 8-bit integer holds one in as fine steps. */
  private static final int MOST_STEPS = 7;

  private Rescale() {}

  /**
   * Returns whether stored integers have another quantization, in steps that are not much finer.
   */
  static boolean isPossible(Operand data, Quantization to) {
    return FloatFallback.isQuantized8(data)
        && !data.quantization().equals(to)
        && steps(data, to) <= MOST_STEPS;
  }

  /** The power of two of the result's steps in one of the data, rounded up. */
  private static int steps(Operand data, Quantization to) {
    return Requantization.of(data.quantization().scale() / to.scale(), Rounding.DOUBLE).shift();
  }

  /**
   * Adds the product. For unsigned integers NNAPI wants the product of the scales to be less than
   * that of the result; one in finer steps is multiplied by the same bits.
   *
   * @param output of the same type
   */
  static void emit(Node node, int input, FusedActivation fused, int output) {
    Operand data = node.operand(input);
    boolean isSigned = data.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    int steps = isSigned ? 0 : Math.max(0, steps(data, node.operand(output).quantization()));
    int one =
        node.constant(
            data.type(),
            Shape.of(1),
            Quantization.of(Math.scalb(1f, -steps), 0),
            new ConstantCopy(new byte[] {(byte) (1 << steps)}));
    node.emit(OperationCode.MUL, output, input, one, node.int32(fused.code()));
  }
}
