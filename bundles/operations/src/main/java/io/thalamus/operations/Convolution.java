// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.Argument.fusedActivation;
import static io.thalamus.operations.ArgumentType.BIAS;
import static io.thalamus.operations.ArgumentType.QUANTIZED;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.ArgumentType.of;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Shape;
import io.thalamus.operations.Requantization.Rounding;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Convolutions over two spatial axes: CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D,
 * TRANSPOSE_CONV_2D.
 */
public final class Convolution {
  /** The arguments that may follow the fused activation of CONV_2D and DEPTHWISE_CONV_2D. */
  private static final List<Argument> END =
      List.of(
          argument("layout", BOOL).from(V1_2),
          argument("dilation width", INT32).from(V1_2).orElse(1),
          argument("dilation height", INT32).orElse(1));

  private Convolution() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Conv2d(OperationCode.CONV_2D, Form.standard(V1_0)),
        new DepthwiseConv2d(OperationCode.DEPTHWISE_CONV_2D, Form.standard(V1_0)),
        new GroupedConv2d(OperationCode.GROUPED_CONV_2D, Form.standard(V1_2)),
        new TransposeConv2d());
  }

  /** The same of 8-bit integers, rounded as ONNX Runtime does. */
  public static List<OperationDefinition> even(
      OperationType plain, OperationType depthwise, OperationType grouped) {
    return List.of(
        new Conv2d(plain, Form.EVEN),
        new DepthwiseConv2d(depthwise, Form.EVEN),
        new GroupedConv2d(grouped, Form.EVEN));
  }

  /** The open parts of an operation: types of the data, and the rounding of stored results. */
  private record Form(FeatureLevel since, TypeLevels types, Rounding rounding) {
    static final Form EVEN = new Form(V1_2, TypeLevels.quantized8(), Rounding.EVEN);

    static Form standard(FeatureLevel since) {
      return new Form(since, TypeLevels.numbers(since), Rounding.DOUBLE);
    }
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

  /** The common part of all convolutions: data, filter, bias, and one output like the data. */
  private abstract static class Definition extends NamedDefinition {
    private final int filterChannelAxis;
    private final Rounding rounding;

    /**
     * @param filterChannelAxis the dimension of the filter that runs over output channels
     */
    Definition(OperationType type, Signature signature, int filterChannelAxis, Rounding rounding) {
      super(type, signature.outputs(argument("output", T)));
      this.rounding = rounding;
      this.filterChannelAxis = filterChannelAxis;
    }

    /** A form of the inputs: data, filter and bias, then arguments by operation. */
    static List<Argument> inputs(TypeLevels types, List<Argument> others) {
      ArgumentType filter = T.or(of(TENSOR_QUANT8_SYMM_PER_CHANNEL).when(QUANTIZED));
      List<Argument> inputs = new ArrayList<>();
      inputs.add(data("input", types).rank(4));
      inputs.add(argument("filter", filter).rank(4));
      inputs.add(argument("bias", BIAS).rank(1));
      inputs.addAll(others);
      return inputs;
    }

    abstract WindowArguments arguments(OperationView operation);

    abstract int activationIndex(OperationView operation);

    /** The number of groups; throws where input and filter do not fit together. */
    abstract int groups(OperationView operation) throws ValidationException;

    @Override
    public final void check(OperationView operation, Check check) throws ValidationException {
      if (!isFloat(operation.input(0))) {
        Accumulation.validate(operation, check);
        if (operation.input(1).quantization() instanceof PerChannel perChannel) {
          check.that(
              perChannel.channelDimension() == filterChannelAxis,
              "the filter's scales must run along dimension " + filterChannelAxis);
        }
      }
      if (areShapesKnown(operation, 1, 2)) {
        checkBias(operation);
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
              size(layout.height(input), parameters.height()),
              size(layout.width(input), parameters.width()),
              outputChannels(operation)));
    }

    /** Returns the cells of the output along an axis. */
    abstract int size(int input, Window window) throws ValidationException;

    @Override
    public abstract Parameters resolve(OperationView operation) throws ValidationException;

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
          Accumulation.of(operation, outputChannels(operation), activation, rounding));
    }
  }

  /**
   * Convolutions whose window moves over the input. Inputs: data, filter, bias, the window's
   * arguments, arguments of their own, activation, layout, dilation of width and of height.
   */
  private abstract static class Forward extends Definition {
    private final int ownArguments;

    /**
     * @param end the arguments behind the fused activation
     * @param own the names of the arguments between the strides and the fused activation
     */
    Forward(
        OperationType type, Form form, int filterChannelAxis, List<Argument> end, String... own) {
      super(
          type,
          Signature.since(form.since())
              .inputs(inputs(form.types(), arguments(false, own, end)))
              .inputs(inputs(form.types(), arguments(true, own, end))),
          filterChannelAxis,
          form.rounding());
      this.ownArguments = own.length;
    }

    private static List<Argument> arguments(boolean isExplicit, String[] own, List<Argument> end) {
      List<Argument> arguments = new ArrayList<>(WindowArguments.signature(isExplicit));
      for (String name : own) {
        arguments.add(argument(name, INT32));
      }
      arguments.add(fusedActivation());
      arguments.addAll(end);
      return arguments;
    }

    @Override
    public OptionalLong macs(OperationView operation) {
      // One output element takes one filter: kernel height x width x input depth of its group.
      return Macs.product(Macs.output(operation), Macs.dimensions(operation, 1, 1, 3));
    }

    /** Looks for a BOOL in the place that the layout has when the padding is implicit. */
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
    final int size(int input, Window window) throws ValidationException {
      return window.positions(input);
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
    Conv2d(OperationType type, Form form) {
      super(type, form, 0, END);
    }

    @Override
    int groups(OperationView operation) throws ValidationException {
      checkDepth(operation, inputChannels(operation), 1);
      return 1;
    }
  }

  private static final class DepthwiseConv2d extends Forward {
    DepthwiseConv2d(OperationType type, Form form) {
      super(type, form, 3, END, "depth multiplier");
    }

    @Override
    public OptionalLong macs(OperationView operation) {
      return Macs.product(Macs.output(operation), Macs.dimensions(operation, 1, 1, 2));
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
    GroupedConv2d(OperationType type, Form form) {
      super(type, form, 0, List.of(argument("layout", BOOL)), "groups");
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
      super(
          OperationCode.TRANSPOSE_CONV_2D,
          Signature.since(V1_2).inputs(inputs(false)).inputs(inputs(true)),
          0,
          Rounding.DOUBLE);
    }

    private static List<Argument> inputs(boolean isExplicit) {
      List<Argument> arguments = new ArrayList<>();
      if (!isExplicit) {
        arguments.add(argument("output shape", TENSOR_INT32).needsValue(true));
      }
      arguments.addAll(WindowArguments.signature(isExplicit));
      arguments.add(fusedActivation());
      arguments.add(argument("layout", BOOL));
      return inputs(TypeLevels.numbers(V1_2), arguments);
    }

    @Override
    public OptionalLong macs(OperationView operation) {
      // Each input element is spread over kernel height x width x output depth.
      return Macs.product(Macs.input(operation, 0), Macs.dimensions(operation, 1, 0, 2));
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
    int groups(OperationView operation) throws ValidationException {
      checkDepth(operation, inputChannels(operation), 1);
      return 1;
    }

    /** The output that a window reaches over, less its padding, which may be negative. */
    @Override
    int size(int input, Window window) throws ValidationException {
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
