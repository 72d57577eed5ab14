// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import org.tensorflow.lite.schema.TensorType;

/**
 * Integers of 32 bits in another scale: products with a factor of 31 bits, shifted and rounded as
 * TensorFlow Lite's MultiplyByQuantizedMultiplier does it, to the bit.
 */
final class ScaledIntegers {
  /** A factor beyond shifts all bits out. */
  private static final int MOST_SHIFT = 30;

  private ScaledIntegers() {}

  /** Returns a factor as TensorFlow Lite's QuantizeMultiplier keeps it. */
  static Requantization factor(double real) {
    return Requantization.of(real, Rounding.DOUBLE);
  }

  /** Returns whether a tensor holds quantized integers of 32 bits. */
  static boolean isQuantized32(FlatTensor tensor) {
    return tensor.is(TensorType.INT32) && tensor.scales().length > 0;
  }

  /** Returns the products of integers with a factor that is not negative. */
  static int times(Node node, int integers, Requantization factor) {
    node.require(factor.shift() <= MOST_SHIFT, "it multiplies integers by more than 2^30");
    return node.compute(
        ThalamusExtension.RESCALE,
        integers,
        integers,
        node.int32(factor.multiplier()),
        node.int32(factor.shift()));
  }

  /** Returns the stored integers, within a type, of integers around its zero point. */
  static int within(Node node, int integers, OperandCode type, int zeroPoint) {
    IntRange range = IntRange.of(type);
    int most = node.int32Vector(range.max() - zeroPoint);
    int least = node.int32Vector(range.min() - zeroPoint);
    int below = node.compute(OperationCode.MINIMUM, integers, integers, most);
    return moved(node, node.compute(OperationCode.MAXIMUM, below, below, least), zeroPoint);
  }

  /** Returns the stored integers of an operand that is quantized, as INT32. */
  static int stored(Node node, int operand) {
    Operand source = node.operand(operand);
    return source.type() == OperandCode.TENSOR_INT32
        ? operand
        : node.compute(ThalamusExtension.CAST, OperandCode.TENSOR_INT32, source.shape(), operand);
  }

  /** Returns integers that are larger by a number. */
  static int moved(Node node, int integers, int by) {
    return by == 0
        ? integers
        : node.compute(OperationCode.ADD, integers, integers, node.int32Vector(by));
  }
}
