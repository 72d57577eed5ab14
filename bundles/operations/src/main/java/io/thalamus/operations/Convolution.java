// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
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
   * The parameters of CONV_2D and DEPTHWISE_CONV_2D.
   *
   * @param layout of input and output; filters are always [out, height, width, in], and [1, height,
   *     width, out] for depthwise convolution
   * @param height movement along the height
   * @param width movement along the width
   * @param depthMultiplier output channels for each input channel; 1 for CONV_2D
   * @param activation the range of real results
   * @param quantized how accumulators become stored results; empty for float types
   */
  public record Parameters(
      DataLayout layout,
      Window height,
      Window width,
      int depthMultiplier,
      FusedActivation activation,
      Optional<Accumulation> quantized)
      implements OperationParameters {}

  /**
   * How integer accumulators become stored results.
   *
   * @param inputZeroPoint subtracted from each stored input
   * @param filterZeroPoint subtracted from each stored weight
   * @param outputZeroPoint added to each result
   * @param output by output channel: from the accumulator's scale to the output's
   * @param activation the range of stored results
   */
  public record Accumulation(
      int inputZeroPoint,
      int filterZeroPoint,
      int outputZeroPoint,
      List<Requantization> output,
      IntRange activation) {
    public Accumulation {
      output = List.copyOf(output);
    }

    /**
     * For an operation whose inputs 0, 1 and 2 are data, filter and bias. Real factors are computed
     * in double from the float scales, as in TensorFlow Lite's per-channel kernels.
     */
    static Optional<Accumulation> of(
        OperationView operation, int channels, FusedActivation activation, Rounding rounding) {
      OperandView input = operation.input(0);
      OperandView filter = operation.input(1);
      OperandView output = operation.output();
      OperandCode type = (OperandCode) output.type();
      if (type != TENSOR_QUANT8_ASYMM && type != TENSOR_QUANT8_ASYMM_SIGNED) {
        return Optional.empty();
      }
      Requantization[] factors = new Requantization[channels];
      for (int c = 0; c < channels; c++) {
        float scale =
            filter.quantization() instanceof PerChannel perChannel
                ? perChannel.scales()[c]
                : filter.scale();
        factors[c] = Requantization.of((double) input.scale() * scale / output.scale(), rounding);
      }
      return Optional.of(
          new Accumulation(
              input.zeroPoint(),
              filter.zeroPoint(),
              output.zeroPoint(),
              List.of(factors),
              activation.range(type, output.quantization())));
    }
  }

  /**
   * The arguments that all two-dimensional windows have in common, behind the tensors: explicit or
   * implicit padding, strides, then what the operation adds.
   *
   * @param explicit whether the padding is given in cells
   * @param next index of the first argument behind the strides
   */
  record Padding(boolean explicit, int next) {
    static Padding at(int first, boolean explicit) {
      return new Padding(explicit, first + (explicit ? 6 : 3));
    }

    Window width(OperationView operation, int input, int size, int dilation)
        throws ValidationException {
      int first = next - (explicit ? 6 : 3);
      return explicit
          ? Window.explicit(
              size,
              operation.input(first + 4).int32(),
              dilation,
              operation.input(first).int32(),
              operation.input(first + 1).int32())
          : Window.implicit(
              input,
              size,
              operation.input(first + 1).int32(),
              dilation,
              operation.input(first).int32());
    }

    Window height(OperationView operation, int input, int size, int dilation)
        throws ValidationException {
      int first = next - (explicit ? 6 : 3);
      return explicit
          ? Window.explicit(
              size,
              operation.input(first + 5).int32(),
              dilation,
              operation.input(first + 2).int32(),
              operation.input(first + 3).int32())
          : Window.implicit(
              input,
              size,
              operation.input(first + 2).int32(),
              dilation,
              operation.input(first).int32());
    }
  }

  /** What the convolutions share: data, filter, bias, and how the scales belong together. */
  private abstract static class Definition implements OperationDefinition {
    private final OperationCode type;

    Definition(OperationCode type) {
      this.type = type;
    }

    @Override
    public OperationType type() {
      return type;
    }

    /** Whether the padding is explicit; told by the place of the first BOOL, the layout. */
    abstract Padding padding(OperationView operation);

    /** The number of arguments between the strides and the fused activation. */
    abstract int argumentsBeforeActivation();

    /** The dimension of the filter that runs over output channels. */
    abstract int filterChannelAxis();

    int activationIndex(OperationView operation) {
      return padding(operation).next() + argumentsBeforeActivation();
    }

    DataLayout layout(OperationView operation) {
      return DataLayout.of(operation.bool(activationIndex(operation) + 1, false));
    }

    Window height(OperationView operation) throws ValidationException {
      int dilation = operation.int32(activationIndex(operation) + 3, 1);
      return padding(operation)
          .height(
              operation,
              layout(operation).height(operation.input(0).shape()),
              operation.input(1).shape().dimension(1),
              dilation);
    }

    Window width(OperationView operation) throws ValidationException {
      int dilation = operation.int32(activationIndex(operation) + 2, 1);
      return padding(operation)
          .width(
              operation,
              layout(operation).width(operation.input(0).shape()),
              operation.input(1).shape().dimension(2),
              dilation);
    }

    FeatureLevel validateTensors(OperationView operation, Check check) throws ValidationException {
      OperandCode data = check.outputCount(1).inputType(0, TYPES);
      check.outputType(0, data).inputRank(0, 4, 4).inputRank(1, 4, 4).inputRank(2, 1, 1);
      OperandView filter = operation.input(1);
      OperandView bias = operation.input(2);
      if (data == TENSOR_FLOAT32 || data == TENSOR_FLOAT16) {
        check.inputType(1, data).inputType(2, data);
      } else {
        check.inputType(1, data, TENSOR_QUANT8_SYMM_PER_CHANNEL).inputType(2, TENSOR_INT32);
        if (filter.quantization() instanceof PerChannel perChannel) {
          check.atLeast(V1_2);
          check.that(
              perChannel.channelDimension() == filterChannelAxis(),
              "the filter's scales must run along dimension " + filterChannelAxis());
          check.that(bias.scale() == 0, "the bias of a per-channel filter has no scale of its own");
        } else {
          check.that(
              Math.abs(bias.scale() - operation.input(0).scale() * filter.scale())
                  <= 1e-6 * Math.min(bias.scale(), operation.input(0).scale() * filter.scale()),
              "the bias must have the product of the input's and the filter's scale");
        }
        check.that(bias.zeroPoint() == 0, "the bias must have zero point 0");
      }
      int activation = activationIndex(operation);
      for (int i = 3; i < operation.inputs().size(); i++) {
        check.inputType(i, i == activation + 1 ? OperandCode.BOOL : OperandCode.INT32);
      }
      if (operation.inputs().size() > activation + 1) {
        check.atLeast(V1_2);
      }
      if (operation.input(activation).value().isPresent()) {
        FusedActivation.ofCode(operation.input(activation).int32());
      }
      if (filter.isShapeKnown() && bias.isShapeKnown()) {
        check.that(
            bias.shape().dimension(0) == filter.shape().dimension(filterChannelAxis()),
            "bias " + bias.shape() + " does not fit filter " + filter.shape());
      }
      return check.level();
    }

    Parameters parameters(OperationView operation, int channels, int depthMultiplier)
        throws ValidationException {
      FusedActivation activation =
          FusedActivation.ofCode(operation.input(activationIndex(operation)).int32());
      return new Parameters(
          layout(operation),
          height(operation),
          width(operation),
          depthMultiplier,
          activation,
          Accumulation.of(operation, channels, activation, Rounding.DOUBLE));
    }

    List<Shape> outputShape(OperationView operation, int channels) throws ValidationException {
      Shape input = operation.input(0).shape();
      DataLayout layout = layout(operation);
      return List.of(
          layout.shape(
              input.dimension(0),
              height(operation).positions(layout.height(input)),
              width(operation).positions(layout.width(input)),
              channels));
    }

    static boolean isBool(OperationView operation, int index) {
      return operation.inputs().size() > index && operation.input(index).type() == OperandCode.BOOL;
    }
  }

  private static final class Conv2d extends Definition {
    Conv2d() {
      super(OperationCode.CONV_2D);
    }

    @Override
    Padding padding(OperationView operation) {
      return Padding.at(3, operation.inputs().size() >= 10 && !isBool(operation, 7));
    }

    @Override
    int argumentsBeforeActivation() {
      return 0;
    }

    @Override
    int filterChannelAxis() {
      return 0;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = new Check(operation, V1_0).inputCount(7, 8, 10, 11, 13);
      return validateTensors(operation, check);
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape filter = operation.input(1).shape();
      int channels = layout(operation).channels(operation.input(0).shape());
      if (channels != filter.dimension(3)) {
        throw new ValidationException(
            "the input has " + channels + " channels, the filter takes " + filter.dimension(3));
      }
      return outputShape(operation, filter.dimension(0));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      return parameters(operation, operation.input(1).shape().dimension(0), 1);
    }
  }

  private static final class DepthwiseConv2d extends Definition {
    DepthwiseConv2d() {
      super(OperationCode.DEPTHWISE_CONV_2D);
    }

    @Override
    Padding padding(OperationView operation) {
      return Padding.at(3, operation.inputs().size() >= 11 && !isBool(operation, 8));
    }

    @Override
    int argumentsBeforeActivation() {
      return 1;
    }

    @Override
    int filterChannelAxis() {
      return 3;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = new Check(operation, V1_0).inputCount(8, 9, 11, 12, 14);
      return validateTensors(operation, check);
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      int channels = layout(operation).channels(operation.input(0).shape());
      int multiplier = operation.input(padding(operation).next()).int32();
      Shape filter = operation.input(1).shape();
      if (filter.dimension(0) != 1 || filter.dimension(3) != channels * multiplier) {
        throw new ValidationException(
            "filter " + filter + " does not fit " + channels + " channels times " + multiplier);
      }
      return outputShape(operation, filter.dimension(3));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      return parameters(
          operation,
          operation.input(1).shape().dimension(3),
          operation.input(padding(operation).next()).int32());
    }
  }
}
