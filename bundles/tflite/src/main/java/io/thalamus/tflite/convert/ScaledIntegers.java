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
 * TensorFlow Lite's MultiplyByQuantizedMultiplier does it, to the bit. The product has 63 bits and
 * NNAPI's integers have 32, so that it is the sum of four products of halves.
 */
final class ScaledIntegers {

  /** Bits of the lower half of an integer and of a factor; together those of a mantissa. */
  private static final int LOW_BITS = 15;

  private static final int LOW_BITS_OF_FACTOR = 16;
  private static final int SIGN = 31;

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
    if (factor.multiplier() == 0) {
      return number(node, OperationCode.MUL, integers, 0);
    }
    int shifted =
        factor.shift() > 0
            ? number(node, OperationCode.MUL, integers, 1 << factor.shift())
            : integers;
    int product = upperHalf(node, shifted, factor.multiplier());
    return factor.shift() < 0 ? halved(node, product, -factor.shift()) : product;
  }

  /**
   * The products with a mantissa by 2^31, rounded to the nearest integer, halves up. The lower half
   * of the mantissa has a sign, so that all four products fit 32 bits.
   */
  private static int upperHalf(Node node, int integers, int mantissa) {
    int most = (1 << LOW_BITS_OF_FACTOR - 1) - 1;
    int upper = (int) ((long) mantissa + most >> LOW_BITS_OF_FACTOR);
    int lower = mantissa - (upper << LOW_BITS_OF_FACTOR);
    int high = shifted(node, integers, LOW_BITS);
    int low = rest(node, integers, high, LOW_BITS);
    int first = number(node, OperationCode.MUL, high, lower);
    int firstWhole = shifted(node, first, LOW_BITS_OF_FACTOR);
    int second = number(node, OperationCode.MUL, low, upper);
    int secondWhole = shifted(node, second, LOW_BITS);
    int secondRest = rest(node, second, secondWhole, LOW_BITS);
    int last = shifted(node, number(node, OperationCode.MUL, low, lower), LOW_BITS);
    int parts =
        sum(
            node,
            rest(node, first, firstWhole, LOW_BITS_OF_FACTOR),
            number(node, OperationCode.MUL, secondRest, 2),
            last);
    int half = number(node, OperationCode.ADD, parts, 1 << LOW_BITS_OF_FACTOR - 1);
    return sum(
        node,
        number(node, OperationCode.MUL, high, upper),
        firstWhole,
        secondWhole,
        shifted(node, half, LOW_BITS_OF_FACTOR));
  }

  /** Quotients by a power of two, rounded to the nearest integer, halves away from 0. */
  private static int halved(Node node, int integers, int bits) {
    int toZero = sum(node, integers, shifted(node, integers, SIGN));
    int doubled = bits > 1 ? shifted(node, toZero, bits - 1) : toZero;
    return shifted(node, number(node, OperationCode.ADD, doubled, 1), 1);
  }

  private static int rest(Node node, int integers, int shifted, int bits) {
    int whole = number(node, OperationCode.MUL, shifted, 1 << bits);
    return node.compute(OperationCode.SUB, integers, integers, whole);
  }

  private static int shifted(Node node, int integers, int bits) {
    return node.compute(ThalamusExtension.RIGHT_SHIFT, integers, integers, node.int32Vector(bits));
  }

  private static int number(Node node, OperationCode code, int integers, int number) {
    int operand = node.int32Vector(number);
    return node.compute(code, integers, integers, operand);
  }

  /** Returns the sum of integers. */
  static int sum(Node node, int first, int... others) {
    int sum = first;
    for (int other : others) {
      sum = node.compute(OperationCode.ADD, sum, sum, other);
    }
    return sum;
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
    return by == 0 ? integers : number(node, OperationCode.ADD, integers, by);
  }
}
