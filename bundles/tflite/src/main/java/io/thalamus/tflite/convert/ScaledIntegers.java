// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

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

  /** Adds an operation whose results are integers times a factor, of the type of an operand. */
  static void emit(Node node, int integers, Requantization factor, int result) {
    node.require(factor.shift() <= MOST_SHIFT, "it multiplies integers by more than 2^30");
    node.emit(
        ThalamusExtension.RESCALE,
        result,
        integers,
        node.int32(factor.multiplier()),
        node.int32(factor.shift()));
  }
}
