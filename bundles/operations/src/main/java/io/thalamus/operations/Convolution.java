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

/**
 * Convolutions over two spatial axes: CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D,
 * TRANSPOSE_CONV_2D.
 */
public final class Convolution {
  private static final TypeLevels TYPES =
      TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
          .andSince(V1_2, TENSOR_FLOAT16)
          .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

  private Convolution() {}

  static List<OperationDefinition> definitions() {
    return List.of(new Conv2d(), new DepthwiseConv2d(), new GroupedConv2d(), new TransposeConv2d());
  }

  /**
   * The parameters of all convolutions. The windows of TRANSPOSE_CONV_2D move over the output: it
   * is the convolution from output to input, run backwards.
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

  /** What all convolutions share: data, filter, bias, and one output like the data. */
  private abstract static class Definition extends NamedDefinition {
    private final FeatureLevel introducedIn;
    private final int filterChannelAxis;

    /**
     * @param filterChannelAxis the dimension of the filter that runs over output channels
     */
    Definition(OperationCode type, FeatureLevel introducedIn, int filterChannelAxis) {
      super(type);
      this.introducedIn = introducedIn;
      this.filterChannelAxis = filterChannelAxis;
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    abstract WindowArguments arguments(OperationView operation);

    abstract int activationIndex(OperationView operation);

    /** The number of groups; throws where input and filter do not fit together. */
    abstract int groups(OperationView operation) throws ValidationException;

    /** Checks everything up to the bias, and the activation. */
    final Check checkTensors(OperationView operation, int... inputCounts)
        throws ValidationException {
      Check check = new Check(operation, introducedIn).inputCount(inputCounts).outputCount(1);
      OperandCode data = check.inputType(0, types());
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
      if (operation.input(1).isShapeKnown() && operation.input(2).isShapeKnown()) {
        checkBias(operation);
      }
      return check.activation(activationIndex(operation));
    }

    final void checkBias(OperationView operation) throws ValidationException {
      Shape filter = operation.input(1).shape();
      Shape bias = operation.input(2).shape();
      if (bias.dimension(0) != filter.dimension(filterChannelAxis)) {
        throw new ValidationException("bias " + bias + " does not fit filter " + filter);
      }
    }

    final DataLayout layout(OperationView operation) {
      return DataLayout.of(operation.bool(activationIndex(operation) + 1, false));
    }

    final int inputChannels(OperationView operation) {
      return layout(operation).channels(operation.input(0).shape());
    }

    final int outputChannels(OperationView operation) {
      return operation.input(1).shape().dimension(filterChannelAxis);
    }

    final Parameters parameters(OperationView operation, Window height, Window width)
        throws ValidationException {
      FusedActivation activation =
          FusedActivation.ofCode(operation.input(activationIndex(operation)).int32());
      return new Parameters(
          layout(operation),
          height,
          width,
          groups(operation),
          activation,
          Accumulation.of(operation, outputChannels(operation), activation, Rounding.DOUBLE));
    }
  }

  /**
   * Convolutions whose window moves over the input. Inputs: data, filter, bias, the window's
   * arguments, arguments of their own, activation, layout, dilation of width and of height.
   */
  private abstract static class Forward extends Definition {
    private final int ownArguments;

    /**
     * @param ownArguments the number of arguments between the strides and the fused activation
     */
    Forward(
        OperationCode type, FeatureLevel introducedIn, int filterChannelAxis, int ownArguments) {
      super(type, introducedIn, filterChannelAxis);
      this.ownArguments = ownArguments;
    }

    /** Told by what stands where the layout would be if the padding were implicit. */
    @Override
    final WindowArguments arguments(OperationView operation) {
      int layout = 7 + ownArguments;
      int inputs = operation.inputs().size();
      return new WindowArguments(3, inputs >= layout + 3 && operation.input(layout).type() != BOOL);
    }

    @Override
    final int activationIndex(OperationView operation) {
      return arguments(operation).next() + ownArguments;
    }

    @Override
    public final boolean isDefault(OperationView operation, int input) {
      return input > activationIndex(operation) + 1
          ? operation.isInt32(input, 1)
          : super.isDefault(operation, input);
    }

    final FeatureLevel validate(OperationView operation, int... inputCounts)
        throws ValidationException {
      Check check = checkTensors(operation, inputCounts);
      int layout = activationIndex(operation) + 1;
      int optional = operation.inputs().size() - layout;
      check.that(
          optional == 0 || optional == 1 || optional == 3,
          "a layout and both dilations may follow the activation, not " + optional + " inputs");
      for (int i = 3; i < operation.inputs().size(); i++) {
        check.inputType(i, i == layout ? BOOL : INT32);
      }
      return check.atLeast(operation.has(layout) ? V1_2 : V1_0).level();
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
              outputChannels(operation)));
    }

    @Override
    public final Parameters resolve(OperationView operation) throws ValidationException {
      WindowArguments arguments = arguments(operation);
      int dilation = activationIndex(operation) + 2;
      DataLayout layout = layout(operation);
      Shape input = operation.input(0).shape();
      Shape filter = operation.input(1).shape();
      return parameters(
          operation,
          arguments.height(
              operation,
              layout.height(input),
              filter.dimension(1),
              operation.int32(dilation + 1, 1)),
          arguments.width(
              operation, layout.width(input), filter.dimension(2), operation.int32(dilation, 1)));
    }
  }

  private static final class Conv2d extends Forward {
    Conv2d() {
      super(OperationCode.CONV_2D, V1_0, 0, 0);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      return validate(operation, 7, 8, 10, 11, 13);
    }

    @Override
    int groups(OperationView operation) throws ValidationException {
      checkDepth(operation, inputChannels(operation), 1);
      return 1;
    }
  }

  private static final class DepthwiseConv2d extends Forward {
    DepthwiseConv2d() {
      super(OperationCode.DEPTHWISE_CONV_2D, V1_0, 3, 1);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      return validate(operation, 8, 9, 11, 12, 14);
    }

    @Override
    int groups(OperationView operation) throws ValidationException {
      int channels = inputChannels(operation);
      int multiplier = operation.input(arguments(operation).next()).int32();
      Shape filter = operation.input(1).shape();
      if (filter.dimension(0) != 1 || filter.dimension(3) != (long) channels * multiplier) {
        throw new ValidationException(
            "filter " + filter + " does not fit " + channels + " channels times " + multiplier);
      }
      return channels;
    }
  }

  private static final class GroupedConv2d extends Forward {
    GroupedConv2d() {
      super(OperationCode.GROUPED_CONV_2D, V1_2, 0, 1);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      return validate(operation, 9, 12);
    }

    @Override
    int groups(OperationView operation) throws ValidationException {
      int groups = operation.input(arguments(operation).next()).int32();
      if (groups <= 0 || outputChannels(operation) % groups != 0) {
        throw new ValidationException(
            outputChannels(operation) + " channels cannot be parted into " + groups + " groups");
      }
      checkDepth(operation, inputChannels(operation), groups);
      return groups;
    }
  }

  /** A filter [out, height, width, in] takes the input channels of one group. */
  private static void checkDepth(OperationView operation, int channels, int groups)
      throws ValidationException {
    int taken = operation.input(1).shape().dimension(3);
    if (channels != (long) taken * groups) {
      throw new ValidationException(
          "the input has "
              + channels
              + " channels, the filter takes "
              + taken
              + (groups == 1 ? "" : " for each of " + groups + " groups"));
    }
  }

  /**
   * Inputs: data, filter, bias; explicit paddings, or the output's shape and a scheme; strides,
   * activation, layout.
   */
  private static final class TransposeConv2d extends Definition {
    private static final int OUTPUT_SHAPE = 3;

    TransposeConv2d() {
      super(OperationCode.TRANSPOSE_CONV_2D, V1_2, 0);
    }

    @Override
    WindowArguments arguments(OperationView operation) {
      boolean isExplicit = operation.inputs().size() == 11;
      return new WindowArguments(isExplicit ? 3 : OUTPUT_SHAPE + 1, isExplicit);
    }

    @Override
    int activationIndex(OperationView operation) {
      return arguments(operation).next();
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = checkTensors(operation, 9, 11);
      boolean isExplicit = arguments(operation).isExplicit();
      for (int i = 3; i < operation.inputs().size(); i++) {
        boolean isShape = !isExplicit && i == OUTPUT_SHAPE;
        boolean isLayout = i == activationIndex(operation) + 1;
        check.inputType(i, isShape ? TENSOR_INT32 : isLayout ? BOOL : INT32);
      }
      return check.level();
    }

    @Override
    public boolean needsValue(OperationView operation, int input) {
      return !operation.input(input).type().isTensor()
          || (input == OUTPUT_SHAPE && !arguments(operation).isExplicit());
    }

    @Override
    int groups(OperationView operation) throws ValidationException {
      checkDepth(operation, inputChannels(operation), 1);
      return 1;
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      checkBias(operation);
      Parameters parameters = resolve(operation);
      Shape input = operation.input(0).shape();
      DataLayout layout = parameters.layout();
      return List.of(
          layout.shape(
              input.dimension(0),
              size(layout.height(input), parameters.height()),
              size(layout.width(input), parameters.width()),
              outputChannels(operation)));
    }

    /** The output that a window reaches over, less its padding, which may be negative. */
    private static int size(int input, Window window) throws ValidationException {
      long size = (input - 1L) * window.stride() + window.size() - window.before() - window.after();
      if (input == 0 || size <= 0 || size > Integer.MAX_VALUE) {
        throw new ValidationException("from " + input + " cells there is no output by " + window);
      }
      return (int) size;
    }

    @Override
    public Parameters resolve(OperationView operation) throws ValidationException {
      return parameters(
          operation,
          window(operation, 1, layout(operation).heightAxis()),
          window(operation, 0, layout(operation).widthAxis()));
    }

    /**
     * The window along an axis.
     *
     * @param argument 0 for the width, 1 for the height
     * @param axis of the data
     */
    private Window window(OperationView operation, int argument, int axis)
        throws ValidationException {
      WindowArguments arguments = arguments(operation);
      int size = operation.input(1).shape().dimension(2 - argument);
      int stride = arguments.stride(operation, argument);
      if (arguments.isExplicit()) {
        // Padding behind may be negative: with a stride, several outputs fit the same input.
        Window unpadded =
            Window.explicit(size, stride, 1, arguments.before(operation, argument), 0);
        return new Window(size, stride, 1, unpadded.before(), arguments.after(operation, argument));
      }
      OperandView shape = operation.input(OUTPUT_SHAPE);
      if (!shape.shape().equals(Shape.of(4))) {
        throw new ValidationException("the output's shape must have 4 elements");
      }
      int output = shape.int32(axis);
      if (output <= 0) {
        throw new ValidationException("the output's shape has the dimension " + output);
      }
      Window window = Window.implicit(output, size, stride, 1, arguments.scheme(operation));
      int input = operation.input(0).shape().dimension(axis);
      if (window.positions(output) != input) {
        throw new ValidationException(
            "an output of " + output + " cells does not come from an input of " + input);
      }
      long reach = (input - 1L) * stride + size;
      return new Window(size, stride, 1, window.before(), (int) (reach - window.before() - output));
    }
  }
}
