// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.Phases;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.Window;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.Conv2DOptions;
import org.tensorflow.lite.schema.DepthwiseConv2DOptions;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.TransposeConvOptions;

/**
 * Convolutions, in NNAPI's forms with implicit padding. Data are NHWC and filters OHWI (1HWO for
 * depthwise ones) on both sides.
 */
final class Convolution {
  /** NNAPI's numbers of the padding schemes. */
  private static final int SAME = 1;

  private static final int VALID = 2;
  private static final int NO_ACTIVATION = 0;

  private Convolution() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.CONV_2D, Convolution::convolution);
    table.add(BuiltinOperator.DEPTHWISE_CONV_2D, Convolution::depthwise);
    table.add(BuiltinOperator.TRANSPOSE_CONV, Convolution::transposed);
    table.addCustom("Convolution2DTransposeBias", Convolution::transposedWithBias);
  }

  /** NNAPI's number of a padding scheme. */
  static int padding(Node node, byte padding) {
    return switch (padding) {
      case Padding.SAME -> SAME;
      case Padding.VALID -> VALID;
      default -> throw node.refuse("its padding " + padding + " is neither SAME nor VALID");
    };
  }

  private static void convolution(Node node) {
    Conv2DOptions options = node.options(new Conv2DOptions());
    int filter = Weights.filter(node, 0, 1, 0);
    Shape shape = rank4(node, filter);
    int groups = groups(node, shape);
    List<Integer> inputs = new ArrayList<>();
    inputs.add(Hybrid.images(node, 0, node.input(1).scales().length > 1));
    inputs.add(filter);
    inputs.add(Weights.bias(node, 0, 2, filter, shape.dimension(0)));
    inputs.add(node.int32(padding(node, node.get(options::padding))));
    inputs.add(node.int32(node.get(options::strideW)));
    inputs.add(node.int32(node.get(options::strideH)));
    int activation = node.fused(node.get(options::fusedActivationFunction));
    int dilationW = node.get(options::dilationWFactor);
    int dilationH = node.get(options::dilationHFactor);
    if (groups > 1) {
      if (dilationW != 1 || dilationH != 1) {
        inputs.set(1, dilated(node, filter, dilationW, dilationH));
      }
      inputs.add(node.int32(groups));
      inputs.add(node.int32(activation));
      inputs.add(node.bool(false));
      node.emit(OperationCode.GROUPED_CONV_2D, inputs, node.out(0));
      return;
    }
    inputs.add(node.int32(activation));
    addDilation(node, dilationW, dilationH, inputs);
    node.emit(OperationCode.CONV_2D, inputs, node.out(0));
  }

  /** The filter with zeros where its dilation leaves gaps: NNAPI has no groups with a dilation. */
  private static int dilated(Node node, int filter, int dilationW, int dilationH) {
    Operand weights = node.operand(filter);
    node.require(
        weights.lifetime() instanceof Lifetime.Constant && weights.shape().isFullySpecified(),
        "it is grouped and dilated, and its filter is not known beforehand");
    node.require(
        dilationW > 0 && dilationH > 0,
        "its dilation is %d and %d".formatted(dilationW, dilationH));
    int height = weights.shape().dimension(1);
    int width = weights.shape().dimension(2);
    int line = Math.addExact(Math.multiplyExact(width - 1, dilationW), 1);
    Shape shape =
        weights
            .shape()
            .with(1, Math.addExact(Math.multiplyExact(height - 1, dilationH), 1))
            .with(2, line);
    byte[] element = Constants.element(weights.type(), weights.quantization().zeroPoint());
    ConstantCopy spread = node.constants().filled(shape, element, node.input(1));
    MemorySegment from = ((Lifetime.Constant) weights.lifetime()).bytes();
    MemorySegment to = MemorySegment.ofArray(spread.value());
    long cell = (long) shape.dimension(3) * element.length;
    for (int i = 0; i < shape.dimension(0) * height * width; i++) {
      long row = (long) i / (height * width) * shape.dimension(1) + i / width % height * dilationH;
      long place = row * line + i % width * dilationW;
      MemorySegment.copy(from, i * cell, to, place * cell, cell);
    }
    return node.constant(weights, shape, spread);
  }

  /** TensorFlow Lite has no word for groups: the filter is shallower than the data. */
  private static int groups(Node node, Shape filter) {
    Shape data = node.shapeOf(0);
    node.require(data.rank() == 4, "its input has shape " + data + ", not 4 dimensions");
    int channels = data.dimension(3);
    int depth = filter.dimension(3);
    if (channels == 0 || depth == 0 || channels == depth) {
      return 1;
    }
    node.require(
        channels % depth == 0,
        "its filter takes " + depth + " channels and its input has " + channels);
    return channels / depth;
  }

  private static void depthwise(Node node) {
    DepthwiseConv2DOptions options = node.options(new DepthwiseConv2DOptions());
    int filter = Weights.filter(node, 0, 1, 3);
    Shape shape = rank4(node, filter);
    Shape data = node.shapeOf(0);
    node.require(data.rank() == 4, "its input has shape " + data + ", not 4 dimensions");
    // The file's multiplier is 0 in some old models; the shapes say the same.
    int multiplier =
        data.dimension(3) > 0
            ? shape.dimension(3) / data.dimension(3)
            : node.get(options::depthMultiplier);
    List<Integer> inputs = new ArrayList<>();
    inputs.add(Hybrid.images(node, 0, true));
    inputs.add(filter);
    inputs.add(Weights.bias(node, 0, 2, filter, shape.dimension(3)));
    inputs.add(node.int32(padding(node, node.get(options::padding))));
    inputs.add(node.int32(node.get(options::strideW)));
    inputs.add(node.int32(node.get(options::strideH)));
    inputs.add(node.int32(multiplier));
    inputs.add(node.int32(node.fused(node.get(options::fusedActivationFunction))));
    addDilation(
        node, node.get(options::dilationWFactor), node.get(options::dilationHFactor), inputs);
    node.emit(OperationCode.DEPTHWISE_CONV_2D, inputs, node.out(0));
  }

  /** Left out where it is 1, so that the oldest form of the operation does. */
  static void addDilation(Node node, int width, int height, List<Integer> inputs) {
    if (width != 1 || height != 1) {
      inputs.add(node.bool(false));
      inputs.add(node.int32(width));
      inputs.add(node.int32(height));
    }
  }

  private static void transposed(Node node) {
    TransposeConvOptions options = node.options(new TransposeConvOptions());
    int[] outputShape = outputShape(node);
    int filter = Weights.filter(node, 2, 1, 0);
    Shape shape = rank4(node, filter);
    int bias = Weights.bias(node, 2, 3, filter, shape.dimension(0));
    emitTransposed(
        node,
        List.of(Hybrid.images(node, 2, true), filter, bias),
        outputShape,
        padding(node, node.get(options::padding)),
        node.get(options::strideW),
        node.get(options::strideH),
        node.fused(node.get(options::fusedActivationFunction)));
  }

  /** Uses the shape that the file infers for the output when the shape is only computed. */
  private static int[] outputShape(Node node) {
    if (node.isKnown(0)) {
      return node.ints(0);
    }
    Shape written = TensorTypes.shape(node.output(0));
    node.require(
        written.rank() == 4 && written.isFullySpecified(),
        "the shape of its output is not known beforehand");
    return written.toArray();
  }

  /** MediaPipe's own operator: settings are three numbers, and the output has what fits. */
  private static void transposedWithBias(Node node) {
    ByteBuffer settings = ByteBuffer.wrap(node.customOptions()).order(ByteOrder.LITTLE_ENDIAN);
    node.require(settings.remaining() >= 12, "its settings are too short");
    int padding = settings.getInt();
    int strideW = settings.getInt();
    int strideH = settings.getInt();
    node.require(
        (padding == SAME || padding == VALID) && strideW > 0 && strideH > 0,
        "its padding is " + padding + " and its strides are " + strideW + " and " + strideH);
    int filter = Weights.filter(node, 0, 1, 0);
    Shape window = rank4(node, filter);
    Shape data = node.shapeOf(0);
    node.require(data.rank() == 4 && data.isFullySpecified(), "its input has shape " + data);
    int bias = Weights.bias(node, 0, 2, filter, window.dimension(0));
    int[] shape = {
      data.dimension(0),
      extent(padding, data.dimension(1), window.dimension(1), strideH),
      extent(padding, data.dimension(2), window.dimension(2), strideW),
      window.dimension(0)
    };
    emitTransposed(
        node, List.of(node.in(0), filter, bias), shape, padding, strideW, strideH, NO_ACTIVATION);
  }

  private static int extent(int padding, int cells, int window, int stride) {
    int least = Math.multiplyExact(cells, stride);
    return padding == SAME ? least : Math.addExact(least, Math.max(0, window - stride));
  }

  private static void emitTransposed(
      Node node,
      List<Integer> operands,
      int[] shape,
      int padding,
      int strideW,
      int strideH,
      int activation) {
    int[] strides = {strideH, strideW};
    Optional<Phases> phases = phases(node, operands, shape, padding, strides);
    if (phases.isPresent()) {
      emit(node, phases.get(), operands, shape, activation);
      return;
    }
    List<Integer> inputs = new ArrayList<>(operands);
    inputs.add(node.int32Vector(shape));
    inputs.add(node.int32(padding));
    inputs.add(node.int32(strideW));
    inputs.add(node.int32(strideH));
    inputs.add(node.int32(activation));
    inputs.add(node.bool(false));
    node.emit(OperationCode.TRANSPOSE_CONV_2D, inputs, node.out(0));
  }

  /** The form that all devices have, of known weights and sizes that fit each other. */
  private static Optional<Phases> phases(
      Node node, List<Integer> operands, int[] shape, int padding, int[] strides) {
    Shape data = node.operand(operands.get(0)).shape();
    Shape filter = node.operand(operands.get(1)).shape();
    Shape bias = node.operand(operands.get(2)).shape();
    boolean isKnown =
        data.rank() == 4
            && shape.length == 4
            && data.isFullySpecified()
            && filter.isFullySpecified()
            && shape[0] == data.dimension(0)
            && shape[3] == filter.dimension(0)
            && filter.dimension(3) == data.dimension(3)
            && bias.equals(Shape.of(shape[3]))
            && known(node, operands.get(1)).isPresent()
            && known(node, operands.get(2)).isPresent();
    if (!isKnown) {
      return Optional.empty();
    }
    int[] size = {data.dimension(1), data.dimension(2)};
    int[] kernel = {filter.dimension(1), filter.dimension(2)};
    int[] output = {shape[1], shape[2]};
    int[] pads = new int[2];
    boolean isStored = FloatFallback.isQuantized8(node.operand(operands.get(0)));
    try {
      for (int i = 0; i < 2; i++) {
        Window window = Window.implicit(output[i], kernel[i], strides[i], 1, padding);
        // Where a filter is no multiple of the stride, some taps are 0: on stored integers, devices
        // that have TRANSPOSE_CONV_2D need up to 1.5 times as long with them, and floats none
        // longer.
        boolean isFast = !isStored || kernel[i] % strides[i] == 0;
        if (!isFast || window.positions(output[i]) != size[i]) {
          return Optional.empty();
        }
        pads[i] = window.before();
      }
    } catch (ValidationException e) {
      return Optional.empty(); // TRANSPOSE_CONV_2D says the same of it
    }
    return Phases.of(size, kernel, strides, pads, output);
  }

  private static Optional<MemorySegment> known(Node node, int operand) {
    return node.operand(operand).lifetime() instanceof Lifetime.Constant constant
        ? Optional.of(constant.bytes())
        : Optional.empty();
  }

  private static void emit(
      Node node, Phases phases, List<Integer> operands, int[] shape, int activation) {
    int places = phases.places();
    int units = shape[3];
    int output = node.out(0);
    Operand like = node.operand(output);
    node.builder().reshape(output, Shape.of(shape));
    Shape deep = Shape.of(shape[0], phases.positions()[0], phases.positions()[1], places * units);
    Shape wide = Shape.of(shape[0], phases.moved(0), phases.moved(1), units);
    int moved = wide.equals(Shape.of(shape)) ? output : node.temporary(like, wide);
    int sums = places == 1 ? moved : node.temporary(like, deep);
    node.emit(
        OperationCode.CONV_2D,
        sums,
        operands.get(0),
        filter(node, phases, operands.get(1)),
        bias(node, places, operands.get(2)),
        node.int32(phases.before()[1]),
        node.int32(phases.after()[1]),
        node.int32(phases.before()[0]),
        node.int32(phases.after()[0]),
        node.int32(1),
        node.int32(1),
        node.int32(activation));
    int block = phases.strides()[0];
    if (places > 1 && block == 1) {
      Reshape.emit(node, sums, moved);
    } else if (places > 1) {
      node.emit(OperationCode.DEPTH_TO_SPACE, moved, sums, node.int32(block));
    }
    if (moved != output) {
      int begin = node.int32Vector(0, phases.cut()[0], phases.cut()[1], 0);
      node.emit(OperationCode.SLICE, output, moved, begin, node.int32Vector(shape));
    }
  }

  private static int filter(Node node, Phases phases, int filter) {
    Operand weights = node.operand(filter);
    int units = weights.shape().dimension(0);
    int channels = weights.shape().dimension(3);
    int places = phases.places();
    Shape shape = Shape.of(places * units, phases.taps()[0], phases.taps()[1], channels);
    byte[] none = Constants.element(weights.type(), weights.quantization().zeroPoint());
    ConstantCopy copy = node.constants().filled(shape, none, node.input(1));
    phases.copyWeights(
        known(node, filter).orElseThrow(),
        MemorySegment.ofArray(copy.value()),
        units,
        (long) channels * none.length);
    Quantization quantization = weights.quantization();
    if (quantization instanceof PerChannel several) {
      float[] scales = new float[places * units];
      for (int i = 0; i < scales.length; i++) {
        scales[i] = several.scales()[i % units];
      }
      quantization = new PerChannel(0, scales);
    }
    return node.constant(weights.type(), shape, quantization, copy);
  }

  /** The bias of each place. */
  private static int bias(Node node, int places, int bias) {
    byte[] one = known(node, bias).orElseThrow().toArray(ValueLayout.JAVA_BYTE);
    Operand known = node.operand(bias);
    int count = known.shape().dimension(0);
    ConstantCopy all = node.constants().filled(Shape.of(places), one, node.output(0));
    return node.constant(known, Shape.of(places * count), all);
  }

  private static Shape rank4(Node node, int filter) {
    Shape shape = node.operand(filter).shape();
    node.require(shape.rank() == 4, "its filter has shape " + shape + ", not 4 dimensions");
    return shape;
  }
}
