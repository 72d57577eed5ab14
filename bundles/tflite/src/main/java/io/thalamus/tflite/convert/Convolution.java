// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
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
        List.of(Hybrid.images(node, 2, true), filter, bias, node.int32Vector(outputShape)),
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
    int shape =
        node.int32Vector(
            data.dimension(0),
            extent(padding, data.dimension(1), window.dimension(1), strideH),
            extent(padding, data.dimension(2), window.dimension(2), strideW),
            window.dimension(0));
    emitTransposed(
        node, List.of(node.in(0), filter, bias, shape), padding, strideW, strideH, NO_ACTIVATION);
  }

  private static int extent(int padding, int cells, int window, int stride) {
    int least = Math.multiplyExact(cells, stride);
    return padding == SAME ? least : Math.addExact(least, Math.max(0, window - stride));
  }

  private static void emitTransposed(
      Node node, List<Integer> operands, int padding, int strideW, int strideH, int activation) {
    List<Integer> inputs = new ArrayList<>(operands);
    inputs.add(node.int32(padding));
    inputs.add(node.int32(strideW));
    inputs.add(node.int32(strideH));
    inputs.add(node.int32(activation));
    inputs.add(node.bool(false));
    node.emit(OperationCode.TRANSPOSE_CONV_2D, inputs, node.out(0));
  }

  private static Shape rank4(Node node, int filter) {
    Shape shape = node.operand(filter).shape();
    node.require(shape.rank() == 4, "its filter has shape " + shape + ", not 4 dimensions");
    return shape;
  }
}
