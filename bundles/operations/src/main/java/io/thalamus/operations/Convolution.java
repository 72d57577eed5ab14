// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Shape;
import io.thalamus.operations.Requantization.Rounding;
import java.util.List;
import java.util.Optional;

/** Convolutions over two spatial axes: CONV_2D, DEPTHWISE_CONV_2D. */
public final class Convolution {
  private static final TypeLevels TYPES =
      TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
          .andSince(V1_2, TENSOR_FLOAT16)
          .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

  private Convolution() {}

  static List<OperationDefinition> definitions() {
    return List.of(new Conv2d(), new DepthwiseConv2d());
  }

  /**
   * The parameters of all convolutions.
   *
   * @param layout of input and output; filters are always [out, height, width, in], and [1, height,
   *     width, out] for depthwise convolution
   * @param height movement along the height
   * @param width movement along the width
   * @param groups into how many groups the channels are parted; each output channel sees the input
   *     channels of its group only. 1 for CONV_2D, one for each input channel for depthwise
   *     convolution
   * @param activation the range of real results
   * @param quantized how accumulators become stored results; empty for float types
   */
  public record Parameters(
      DataLayout layout,
      Window height,
      Window width,
      int groups,
      FusedActivation activation,
      Optional<Accumulation> quantized)
      implements OperationParameters {}

  /**
   * What the convolutions share. Inputs: data, filter, bias, the window's arguments, arguments of
   * their own, activation, layout, dilation of width and of height.
   */
  private abstract static class Definition extends NamedDefinition {
    private final int ownArguments;
    private final int filterChannelAxis;

    /**
     * @param ownArguments the number of arguments between the strides and the fused activation
     * @param filterChannelAxis the dimension of the filter that runs over output channels
     */
    Definition(OperationCode type, int ownArguments, int filterChannelAxis) {
      super(type);
      this.ownArguments = ownArguments;
      this.filterChannelAxis = filterChannelAxis;
    }

    /** The number of groups; throws where input and filter do not fit together. */
    abstract int groups(OperationView operation) throws ValidationException;

    /** Told by what stands where the layout would be if the padding were implicit. */
    final WindowArguments arguments(OperationView operation) {
      int layout = 7 + ownArguments;
      int inputs = operation.inputs().size();
      return new WindowArguments(3, inputs >= layout + 3 && operation.input(layout).type() != BOOL);
    }

    final int activationIndex(OperationView operation) {
      return arguments(operation).next() + ownArguments;
    }

    @Override
    public final FeatureLevel validate(OperationView operation) throws ValidationException {
      int least = 7 + ownArguments;
      Check check =
          new Check(operation, V1_0)
              .inputCount(least, least + 1, least + 3, least + 4, least + 6)
              .outputCount(1);
      OperandCode data = check.inputType(0, TYPES);
      check.outputType(0, data).inputRank(0, 4, 4).inputRank(1, 4, 4).inputRank(2, 1, 1);
      if (isFloat(operation.input(0))) {
        check.inputType(1, data).inputType(2, data);
      } else {
        check.inputType(1, data, TENSOR_QUANT8_SYMM_PER_CHANNEL).inputType(2, TENSOR_INT32);
        Accumulation.validate(operation, check);
        if (operation.input(1).quantization() instanceof PerChannel perChannel) {
          check.that(
              perChannel.channelDimension() == filterChannelAxis,
              "the filter's scales must run along dimension " + filterChannelAxis);
        }
      }
      int activation = activationIndex(operation);
      for (int i = 3; i < operation.inputs().size(); i++) {
        check.inputType(i, i == activation + 1 ? BOOL : INT32);
      }
      if (operation.has(activation + 1)) {
        check.atLeast(V1_2);
      }
      if (operation.input(1).isShapeKnown() && operation.input(2).isShapeKnown()) {
        checkBias(operation);
      }
      return check.activation(activation).level();
    }

    private void checkBias(OperationView operation) throws ValidationException {
      Shape filter = operation.input(1).shape();
      Shape bias = operation.input(2).shape();
      if (bias.dimension(0) != filter.dimension(filterChannelAxis)) {
        throw new ValidationException("bias " + bias + " does not fit filter " + filter);
      }
    }

    @Override
    public final List<Shape> infer(OperationView operation) throws ValidationException {
      checkBias(operation);
      Parameters parameters = resolve(operation);
      Shape input = operation.input(0).shape();
      DataLayout layout = parameters.layout();
      return List.of(
          layout.shape(
              input.dimension(0),
              parameters.height().positions(layout.height(input)),
              parameters.width().positions(layout.width(input)),
              operation.input(1).shape().dimension(filterChannelAxis)));
    }

    @Override
    public final Parameters resolve(OperationView operation) throws ValidationException {
      WindowArguments arguments = arguments(operation);
      int index = activationIndex(operation);
      DataLayout layout = DataLayout.of(operation.bool(index + 1, false));
      Shape input = operation.input(0).shape();
      Shape filter = operation.input(1).shape();
      FusedActivation activation = FusedActivation.ofCode(operation.input(index).int32());
      return new Parameters(
          layout,
          arguments.height(
              operation, layout.height(input), filter.dimension(1), operation.int32(index + 3, 1)),
          arguments.width(
              operation, layout.width(input), filter.dimension(2), operation.int32(index + 2, 1)),
          groups(operation),
          activation,
          Accumulation.of(
              operation, filter.dimension(filterChannelAxis), activation, Rounding.DOUBLE));
    }

    final int channels(OperationView operation) {
      return DataLayout.of(operation.bool(activationIndex(operation) + 1, false))
          .channels(operation.input(0).shape());
    }
  }

  private static final class Conv2d extends Definition {
    Conv2d() {
      super(OperationCode.CONV_2D, 0, 0);
    }

    @Override
    int groups(OperationView operation) throws ValidationException {
      int channels = channels(operation);
      int taken = operation.input(1).shape().dimension(3);
      if (channels != taken) {
        throw new ValidationException(
            "the input has " + channels + " channels, the filter takes " + taken);
      }
      return 1;
    }
  }

  private static final class DepthwiseConv2d extends Definition {
    DepthwiseConv2d() {
      super(OperationCode.DEPTHWISE_CONV_2D, 1, 3);
    }

    @Override
    int groups(OperationView operation) throws ValidationException {
      int channels = channels(operation);
      int multiplier = operation.input(arguments(operation).next()).int32();
      Shape filter = operation.input(1).shape();
      if (filter.dimension(0) != 1 || filter.dimension(3) != (long) channels * multiplier) {
        throw new ValidationException(
            "filter " + filter + " does not fit " + channels + " channels times " + multiplier);
      }
      return channels;
    }
  }
}
