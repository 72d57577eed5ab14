// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import java.util.Optional;
import org.tensorflow.lite.schema.TensorType;

/**
 * Filters and biases of convolutions and dense layers.
 *
 * <p>Hybrid layers, with 8-bit weights and floating-point activations, do not exist in NNAPI: their
 * weights become floats. (TensorFlow Lite's own kernels quantize the activations as they run, and
 * so deviate more from the trained model than this does; {@link Hybrid} does the same on demand.)
 *
 * <p>A bias keeps its stored integers, but its scale becomes the product of those of input and
 * filter, as NNAPI demands and TensorFlow Lite computes; what the file says may differ by rounding,
 * and takes part in nothing.
 */
final class Weights {
  private static final int FILTER = 1;
  private static final int BIAS = 2;
  private static final int BIAS_OF_TRANSPOSED = 3;

  private Weights() {}

  /** Returns whether a layer has 16-bit activations, and constant weights of 8 bits. */
  private static boolean isWide(Node node, FlatTensor data, FlatTensor filter) {
    return Wide16.isQuantized(data)
        && Wide16.isQuantized(node.output(0))
        && filter.isConstant()
        && filter.scales().length > 0;
  }

  /** The weights of a layer of 16-bit activations. */
  private static int wideFilter(
      Node node, FlatTensor data, FlatTensor filter, Optional<FlatTensor> bias) {
    double[] factors = Wide16.roundings(node, data, filter, bias);
    return node.float32Tensor(TensorTypes.shape(filter), node.constants().floats(filter, factors));
  }

  /** The bias of one: integers of up to 64 bits in units of the products. */
  private static int wideBias(Node node, FlatTensor data, FlatTensor filter, FlatTensor bias) {
    double[] factors = Wide16.roundings(node, data, filter, Optional.of(bias));
    for (int i = 0; i < factors.length; i++) {
      factors[i] *=
          (double) TensorTypes.checkedScale(data, 0) * TensorTypes.checkedScale(filter, i);
    }
    return node.float32Tensor(TensorTypes.shape(bias), node.constants().scaled(bias, factors));
  }

  /**
   * The operand of a filter.
   *
   * @param dataInput the number of the operator's data input
   * @param channel the dimension of the output channels, along which NNAPI allows many scales
   */
  static int filter(Node node, int dataInput, int input, int channel) {
    FlatTensor filter = node.input(input);
    Operand data = node.inOperand(dataInput);
    node.require(
        filter.blocks() == null || data.type() == OperandCode.TENSOR_FLOAT32,
        "its weights are quantized in blocks and its input is " + data.type().text());
    if (isWide(node, node.input(dataInput), filter)) {
      int bias = dataInput == 0 ? BIAS : BIAS_OF_TRANSPOSED;
      return wideFilter(
          node,
          node.input(dataInput),
          filter,
          node.has(bias) ? Optional.of(node.input(bias)) : Optional.empty());
    }
    if (filter.is8Bit() && !FloatFallback.isQuantized8(data)) {
      node.require(
          data.type() == OperandCode.TENSOR_FLOAT32 && filter.isConstant(),
          "its weights are " + filter.typeName() + " and its input " + data.type().text());
      return node.inWeights(input);
    }
    return isPerChannel(filter)
        ? perChannel(node, filter, channel, TensorTypes.shape(filter))
        : node.in(input);
  }

  /** Returns whether a tensor has a scale for each of several channels. */
  static boolean isPerChannel(FlatTensor tensor) {
    return tensor.is(TensorType.INT8) && tensor.scales().length > 1;
  }

  /**
   * The operand of a filter with a scale for each output channel.
   *
   * @param shape that of the tensor, or another that keeps {@code channel} and the order of
   *     elements
   */
  static int perChannel(Node node, FlatTensor filter, int channel, Shape shape) {
    float[] scales = new float[filter.scales().length];
    boolean isOnePerChannel =
        filter.isConstant()
            && filter.quantizedDimension() == channel
            && channel < shape.rank()
            && shape.dimension(channel) == scales.length;
    if (!isOnePerChannel) {
      throw node.refuse(
          "%s has %d scales along dimension %d of %s; NNAPI wants one for each output channel,"
                  .formatted(filter.text(), scales.length, filter.quantizedDimension(), shape)
              + " dimension "
              + channel);
    }
    for (int i = 0; i < scales.length; i++) {
      scales[i] = TensorTypes.checkedScale(filter, i);
      if (TensorTypes.zeroPoint(filter, i) != 0) {
        throw node.refuse(filter.text() + " has a zero point per channel");
      }
    }
    return node.builder()
        .constant(
            filter.name(),
            OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL,
            shape,
            new PerChannel(channel, scales),
            node.constants().place(filter));
  }

  /**
   * The operand of a bias; zeros where the operator has none.
   *
   * @param dataInput the number of the operator's data input
   * @param filter the operand of the filter
   * @param channels how many values the bias has
   */
  static int bias(Node node, int dataInput, int input, int filter, int channels) {
    Operand data = node.inOperand(dataInput);
    Operand weights = node.operand(filter);
    boolean quantized = FloatFallback.isQuantized8(data);
    Quantization quantization =
        !quantized || weights.quantization() instanceof PerChannel
            ? Quantization.NONE
            : Quantization.of(data.quantization().scale() * weights.quantization().scale(), 0);
    if (!node.has(input)) {
      OperandCode type = quantized ? OperandCode.TENSOR_INT32 : (OperandCode) data.type();
      node.require(channels > 0, "the number of its output channels is not known");
      return node.constant(
          type,
          Shape.of(channels),
          quantization,
          node.constants().zeros((long) channels * type.elementSize(), node.output(0)));
    }
    FlatTensor bias = node.input(input);
    if (isWide(node, node.input(dataInput), node.input(FILTER)) && bias.isConstant()) {
      return wideBias(node, node.input(dataInput), node.input(FILTER), bias);
    }
    if (!quantized) {
      return bias.isConstant() && !bias.is(TensorType.FLOAT16)
          ? node.inFloats(input)
          : node.in(input);
    }
    node.require(
        bias.is(TensorType.INT32),
        "its bias is " + bias.typeName() + "; NNAPI wants INT32 for a quantized layer");
    if (!bias.isConstant()) {
      return node.in(input);
    }
    return node.builder()
        .constant(
            bias.name(),
            OperandCode.TENSOR_INT32,
            TensorTypes.shape(bias),
            quantization,
            node.constants().place(bias));
  }
}
