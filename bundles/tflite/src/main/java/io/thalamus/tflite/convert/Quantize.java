// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.FakeQuantOptions;

/** Changes of an element's representation. */
final class Quantize {
  private Quantize() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.QUANTIZE, Quantize::quantize);
    table.add(BuiltinOperator.DEQUANTIZE, Quantize::dequantize);
    table.add(BuiltinOperator.CAST, Quantize::cast);
    table.add(BuiltinOperator.DENSIFY, Quantize::densify);
    table.add(BuiltinOperator.FAKE_QUANT, Quantize::rounded);
  }

  /** Constants get their zeros back when they are read. */
  private static void densify(Node node) {
    node.require(node.input(0).isConstant(), node.input(0).text() + " is not constant");
    node.standIn(0, 0);
  }

  /** Numbers as they would be if they had been quantized, on a grid that has 0. */
  private static void rounded(Node node) {
    FakeQuantOptions options = node.options(new FakeQuantOptions());
    int bits = node.get(options::numBits);
    float least = node.get(options::min);
    float most = node.get(options::max);
    node.require(
        bits > 1 && bits <= 16 && least < most && least <= 0 && most >= 0,
        "it rounds %s to %s to %s bits".formatted(least, most, bits));
    int first = node.get(options::narrowRange) ? 1 : 0;
    int last = (1 << bits) - 1;
    float step = (most - least) / (last - first);
    int zero = Math.clamp(Math.round(first - least / step), first, last);
    float low = (first - zero) * step;
    float high = (last - zero) * step;
    int input = node.in(0);
    Operand data = node.operand(input);
    int bounded =
        node.compute(
            OperationCode.MINIMUM,
            input,
            node.compute(OperationCode.MAXIMUM, input, input, node.number(data, low)),
            node.number(data, high));
    int above = node.compute(OperationCode.SUB, input, bounded, node.number(data, low));
    int steps = node.compute(OperationCode.MUL, input, above, node.number(data, 1 / step));
    int half = node.compute(OperationCode.ADD, input, steps, node.number(data, 0.5f));
    int whole = node.compute(OperationCode.FLOOR, input, half);
    int back = node.compute(OperationCode.MUL, input, whole, node.number(data, step));
    node.emit(OperationCode.ADD, node.out(0), back, node.number(data, low));
  }

  /** NNAPI casts no truth values: they choose between 0 and 1, and come of comparing with 0. */
  private static void cast(Node node) {
    if (Bits.castsByBits(node)) {
      return;
    }
    int input = node.in(0);
    int output = node.out(0);
    Operand from = node.operand(input);
    Operand to = node.operand(output);
    boolean toBool = to.type() == OperandCode.TENSOR_BOOL8;
    boolean fromBool = from.type() == OperandCode.TENSOR_BOOL8;
    if (toBool == fromBool) {
      boolean isSmall = isSmall(from) || isSmall(to);
      if (isSmall && to.type() == OperandCode.TENSOR_FLOAT16) {
        int real =
            node.compute(ThalamusExtension.CAST, OperandCode.TENSOR_FLOAT32, from.shape(), input);
        node.emit(OperationCode.CAST, output, real);
        return;
      }
      node.emit(
          isSmall && !from.type().equals(to.type()) ? ThalamusExtension.CAST : OperationCode.CAST,
          output,
          input);
    } else if (toBool) {
      int zero = number(node, from, Shape.of(1), 0);
      node.emit(OperationCode.NOT_EQUAL, output, input, zero);
    } else if (!from.shape().isFullySpecified()) {
      node.emit(ThalamusExtension.CAST, output, input);
    } else {
      Shape shape = from.shape();
      int one = number(node, to, shape, 1);
      node.emit(OperationCode.SELECT, output, input, one, number(node, to, shape, 0));
    }
  }

  /** Returns whether an operand holds integers that NNAPI casts to their own type only. */
  private static boolean isSmall(Operand operand) {
    return operand.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
        || operand.type() == OperandCode.TENSOR_QUANT16_SYMM;
  }

  /** A constant full of one number that is stored as such. */
  private static int number(Node node, Operand like, Shape shape, int value) {
    node.require(
        shape.isFullySpecified(), "it casts data of shape " + shape + ", not known beforehand");
    node.require(
        like.type() != OperandCode.TENSOR_QUANT16_SYMM,
        "it casts between BOOL and " + like.type().text());
    byte[] element = Constants.element(like.type(), value);
    return node.constant(like, shape, node.constants().filled(shape, element, node.output(0)));
  }

  private static void quantize(Node node) {
    if (isRequantized(node)) {
      requantize(node);
      return;
    }
    if (node.isRealOutput(0)) {
      node.alias(0, FloatFallback.dequantized(node, node.in(0)));
      return;
    }
    int data = node.in(0);
    int output = node.out(0);
    Operand result = node.operand(output);
    if (!FloatFallback.isQuantized8(node.operand(data)) || !FloatFallback.isQuantized8(result)) {
      node.emit(OperationCode.QUANTIZE, output, FloatFallback.dequantized(node, data));
      return;
    }
    OperandType type = node.operand(data).type();
    Quantization to = moved(result, type);
    if (Rescale.isPossible(node.operand(data), to)) {
      boolean isSame = type.equals(result.type());
      int scaled = isSame ? output : node.temporary(type, result.shape(), to);
      Rescale.emit(node, data, FusedActivation.NONE, scaled);
      if (isSame) {
        return;
      }
      data = scaled;
    }
    // Real numbers of the same steps are exact, and NNAPI has no other way between the types.
    node.emit(OperationCode.QUANTIZE, output, FloatFallback.dequantized(node, data));
  }

  /**
   * Returns whether the operator brings integers to others, of which NNAPI's 8 bits hold not all.
   */
  private static boolean isRequantized(Node node) {
    FlatTensor from = node.input(0);
    FlatTensor to = node.output(0);
    return isWide(from) && (isWide(to) || FloatFallback.isQuantized(to))
        || FloatFallback.isQuantized(from) && ScaledIntegers.isQuantized32(to);
  }

  private static boolean isWide(FlatTensor tensor) {
    return Wide16.isQuantized(tensor) || ScaledIntegers.isQuantized32(tensor);
  }

  private static void requantize(Node node) {
    FlatTensor from = node.input(0);
    FlatTensor to = node.output(0);
    node.require(
        from.scales().length == 1 && to.scales().length == 1, "it has more than one scale");
    double factor = TensorTypes.checkedScale(from, 0) / (double) TensorTypes.checkedScale(to, 0);
    int integers = node.in(0);
    if (Wide16.isQuantized(from)) {
      integers = Wide16.integers(node.graph(), from, integers);
    } else if (ScaledIntegers.isQuantized32(from)) {
      integers = moved(node, integers, -TensorTypes.zeroPoint(from, 0));
    }
    Requantization scale = ScaledIntegers.factor(factor);
    if (FloatFallback.isQuantized(to)) {
      ScaledIntegers.emit(node, integers, scale, node.out(0));
      return;
    }
    Shape shape = node.operand(integers).shape();
    int scaled = node.temporary(OperandCode.TENSOR_INT32, shape, Quantization.NONE);
    ScaledIntegers.emit(node, integers, scale, scaled);
    if (ScaledIntegers.isQuantized32(to)) {
      node.require(TensorTypes.zeroPoint(to, 0) == 0, to.text() + " has a zero point");
      node.alias(0, scaled);
      return;
    }
    int zeroPoint = Wide16.zeroPoint(to);
    int within = within(node, scaled, IntRange.of(OperandCode.TENSOR_QUANT16_SYMM), zeroPoint);
    // Integers of 16 bits are on the grid: the graph takes them without rounding them again.
    node.graph().alias(to, Wide16.real(node.graph(), to, within));
  }

  /** Returns the stored integers, within a range, of integers around their zero point. */
  private static int within(Node node, int integers, IntRange range, int zeroPoint) {
    int most = node.int32Vector(range.max() - zeroPoint);
    int least = node.int32Vector(range.min() - zeroPoint);
    int below = node.compute(OperationCode.MINIMUM, integers, integers, most);
    return moved(node, node.compute(OperationCode.MAXIMUM, below, below, least), zeroPoint);
  }

  /** Returns integers that are larger by a number. */
  private static int moved(Node node, int integers, int by) {
    return by == 0
        ? integers
        : node.compute(OperationCode.ADD, integers, integers, node.int32Vector(by));
  }

  /** The quantization with which 8-bit integers of a type are those of a result, moved by 128. */
  private static Quantization moved(Operand result, OperandType type) {
    int zeroPoint =
        result.quantization().zeroPoint()
            + IntRange.of((OperandCode) type).min()
            - IntRange.of((OperandCode) result.type()).min();
    return Quantization.of(result.quantization().scale(), zeroPoint);
  }

  /** Of a constant, it is done here: weights that were only stored small become floats. */
  private static void dequantize(Node node) {
    FlatTensor input = node.input(0);
    if (input.isConstant()) {
      node.alias(0, node.inFloats(0));
      return;
    }
    Operand data = node.inOperand(0);
    if (data.type() == OperandCode.TENSOR_FLOAT32) {
      node.alias(0, node.in(0));
      return;
    }
    OperationCode code =
        data.type() == OperandCode.TENSOR_FLOAT16 ? OperationCode.CAST : OperationCode.DEQUANTIZE;
    node.emit(code, node.out(0), node.in(0));
  }
}
