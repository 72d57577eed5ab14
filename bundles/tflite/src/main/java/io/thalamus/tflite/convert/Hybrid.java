// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import org.tensorflow.lite.schema.TensorType;

/**
 * Layers of constant 8-bit weights over real numbers, as TensorFlow Lite computes them: the numbers
 * are rounded to 8 bits, on a grid that is found for each row or image. Here they stay real numbers
 * on that grid, and their products with real weights are those of the integers, scaled.
 */
record Hybrid(Node node) {
  private static final int MAX_RANK = 4;

  /** The range of a row of zeros, which only must not be divided by. */
  private static final float LEAST_RANGE = 1e-30f;

  /** Returns whether an input of an operator is to be rounded, which meets input 1. */
  static boolean isWanted(Node node, int data) {
    FlatTensor weights = node.input(1);
    return node.model().isHybrid()
        && node.input(data).is(TensorType.FLOAT32)
        && weights.is8Bit()
        && weights.isConstant();
  }

  /** The operand of a convolution's images, rounded where that is wanted. */
  static int images(Node node, int data, boolean isAsymmetric) {
    int input = node.in(data);
    return isWanted(node, data) ? new Hybrid(node).rounded(input, isAsymmetric, 1, 2, 3) : input;
  }

  /** An operand of rows, rounded where that is wanted. */
  static int rows(Node node, int input, boolean isAsymmetric) {
    if (!isWanted(node, 0)) {
      return input;
    }
    Shape shape = node.operand(input).shape();
    int axis = shape.rank() - 1;
    if (shape.rank() <= MAX_RANK || !shape.isFullySpecified()) {
      return new Hybrid(node).rounded(input, isAsymmetric, axis);
    }
    int length = shape.dimension(axis);
    int count = Math.toIntExact(shape.elementCount() / length);
    int rows = Reshape.reshaped(node, input, Shape.of(count, length));
    return Reshape.reshaped(node, new Hybrid(node).rounded(rows, isAsymmetric, 1), shape);
  }

  private int rounded(int input, boolean isAsymmetric, int... axes) {
    Shape shape = node.operand(input).shape();
    node.require(
        axes[0] >= 0 && axes[axes.length - 1] < shape.rank(), "it takes data of shape " + shape);
    int high = extreme(OperationCode.REDUCE_MAX, input, axes);
    int low = extreme(OperationCode.REDUCE_MIN, input, axes);
    if (!isAsymmetric) {
      int negated = node.compute(OperationCode.NEG, low, low);
      int scale = scale(node.compute(OperationCode.MAXIMUM, high, high, negated), 127);
      return paired(OperationCode.MUL, whole(scaled(input, scale)), scale);
    }
    int above = node.compute(OperationCode.MAXIMUM, high, high, number(0));
    int below = node.compute(OperationCode.MINIMUM, low, low, number(0));
    int scale = scale(paired(OperationCode.SUB, above, below), 255);
    // How far zero is from the least step, -128.
    int distance = node.compute(OperationCode.NEG, below, paired(OperationCode.DIV, below, scale));
    int zero = whole(paired(OperationCode.ADD, distance, number(Byte.MIN_VALUE)));
    int steps = whole(paired(OperationCode.ADD, scaled(input, scale), zero));
    return paired(OperationCode.MUL, paired(OperationCode.SUB, steps, zero), scale);
  }

  /** The least or largest value of each row. */
  private int extreme(OperationCode code, int input, int... axes) {
    Operand data = node.operand(input);
    Shape shape = data.shape();
    for (int axis : axes) {
      shape = shape.with(axis, 1);
    }
    return node.compute(code, data, shape, input, node.int32Vector(axes), node.bool(true));
  }

  /** The distance of neighbours on a grid of so many steps. */
  private int scale(int range, int steps) {
    int divisible = node.compute(OperationCode.MAXIMUM, range, range, number(LEAST_RANGE));
    return paired(OperationCode.DIV, divisible, number(steps));
  }

  /** Numbers in units of a scale, by its reciprocal: a last bit can decide a tie. */
  private int scaled(int real, int scale) {
    int reciprocal = node.compute(OperationCode.DIV, scale, number(1), scale);
    return paired(OperationCode.MUL, real, reciprocal);
  }

  /** The nearest whole numbers within 8 bits, away from zero where two are. */
  private int whole(int real) {
    Shape shape = node.operand(real).shape();
    int stored =
        node.temporary(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, shape, Quantization.of(1, 0));
    node.emit(OperationCode.QUANTIZE, stored, real);
    return node.compute(OperationCode.DEQUANTIZE, real, stored);
  }

  private int number(float value) {
    byte[] element = Constants.element(OperandCode.TENSOR_FLOAT32, value);
    return node.constant(
        OperandCode.TENSOR_FLOAT32, Shape.of(1), Quantization.NONE, new ConstantCopy(element));
  }

  private int paired(OperationCode code, int first, int second) {
    return node.compute(code, first, first, second);
  }
}
