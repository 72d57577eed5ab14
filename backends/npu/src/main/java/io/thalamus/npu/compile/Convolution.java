// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;

/** Convolutions over two spatial axes, of constant filters, channels last. */
final class Convolution {
  private Convolution() {}

  static void register(LoweringTable table) {
    table
        .add(OperationCode.CONV_2D, Convolution::conv2d, Types.all())
        .add(OperationCode.DEPTHWISE_CONV_2D, Convolution::depthwise, Types.all())
        .add(ThalamusExtension.CONV_2D, Convolution::conv2d, ElementTypes.quantized8())
        .add(
            ThalamusExtension.DEPTHWISE_CONV_2D, Convolution::depthwise, ElementTypes.quantized8());
  }

  private static boolean isPossible(ResolvedOperation operation) {
    return operation.view().input(1).value().isPresent()
        && operation.view().input(2).value().isPresent()
        && operation.parameters(Parameters.class).layout() == DataLayout.NHWC
        && Types.areSmall(operation.inputShape(0))
        && Types.areSmall(operation.inputShape(1));
  }

  private static InputWindows windows(ResolvedOperation operation, Tensor input) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape shape = operation.inputShape(0);
    return new InputWindows(
        input,
        shape.dimension(1),
        shape.dimension(2),
        shape.dimension(3),
        parameters.height(),
        parameters.width(),
        Types.flags(input.type()),
        operation.view().input(0).zeroPoint());
  }

  private static Results results(
      ResolvedOperation operation, Tensor output, LoweringContext context) {
    Parameters parameters = operation.parameters(Parameters.class);
    return Products.results(
        operation,
        output,
        operation.outputShape(0).toArray(),
        parameters.quantized(),
        parameters.activation(),
        context);
  }

  private static List<Layer<?>> conv2d(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    if (!isPossible(operation)) {
      return List.of();
    }
    Shape filter = operation.inputShape(1);
    ProductWeights weights =
        new ProductWeights(
            Products.weights(operation, context),
            filter.dimension(0),
            filter.dimension(1) * filter.dimension(2),
            filter.dimension(3),
            output.elementSize(),
            context.architecture().array().columns(),
            Products.center(operation));
    return List.of(
        new ProductLayer(
            windows(operation, inputs.get(0)),
            results(operation, output, context),
            weights,
            Products.weightZero(operation)));
  }

  private static List<Layer<?>> depthwise(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    if (!isPossible(operation)) {
      return List.of();
    }
    Shape filter = operation.inputShape(1);
    int taps = filter.dimension(1) * filter.dimension(2);
    ProductWeights weights =
        new ProductWeights(
            transposed(
                Products.weights(operation, context),
                taps,
                filter.dimension(3),
                output.elementSize()),
            filter.dimension(3),
            taps,
            1,
            output.elementSize(),
            Integer.MAX_VALUE,
            Products.center(operation));
    return List.of(
        new DepthwiseLayer(
            windows(operation, inputs.get(0)),
            results(operation, output, context),
            weights,
            Products.weightZero(operation)));
  }

  /** From [tap, channel] to [channel, tap]. */
  private static byte[] transposed(byte[] weights, int taps, int channels, int size) {
    byte[] result = new byte[weights.length];
    for (int at = 0; at < result.length; at++) {
      int element = at / size;
      int from = element % taps * channels + element / taps;
      result[at] = weights[from * size + at % size];
    }
    return result;
  }
}
