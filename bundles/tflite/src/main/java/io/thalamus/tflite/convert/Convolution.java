// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
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

  private Convolution() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.CONV_2D, Convolution::convolution);
    table.add(BuiltinOperator.DEPTHWISE_CONV_2D, Convolution::depthwise);
    table.add(BuiltinOperator.TRANSPOSE_CONV, Convolution::transposed);
  }

  /** NNAPI's number of a padding scheme. */
  static int padding(Node node, byte padding) throws ModelFormatException {
    return switch (padding) {
      case Padding.SAME -> SAME;
      case Padding.VALID -> VALID;
      default -> throw node.refuse("its padding " + padding + " is neither SAME nor VALID");
    };
  }

  private static void convolution(Node node) throws ModelFormatException {
    Conv2DOptions options = node.options(BuiltinOptions.Conv2DOptions, new Conv2DOptions());
    int filter = Weights.filter(node, 0, 1, 0);
    Shape shape = rank4(node, filter);
    int groups = groups(node, shape);
    List<Integer> inputs = new ArrayList<>();
    inputs.add(node.in(0));
    inputs.add(filter);
    inputs.add(Weights.bias(node, 0, 2, filter, shape.dimension(0)));
    inputs.add(node.int32(padding(node, node.get(options::padding))));
    inputs.add(node.int32(node.get(options::strideW)));
    inputs.add(node.int32(node.get(options::strideH)));
    int activation = node.fused(node.get(options::fusedActivationFunction));
    int dilationW = node.get(options::dilationWFactor);
    int dilationH = node.get(options::dilationHFactor);
    if (groups > 1) {
      node.require(
          dilationW == 1 && dilationH == 1,
          "it is grouped and dilated, which NNAPI does not have together");
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

  /** TensorFlow Lite has no word for groups: the filter is shallower than the data. */
  private static int groups(Node node, Shape filter) throws ModelFormatException {
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

  private static void depthwise(Node node) throws ModelFormatException {
    DepthwiseConv2DOptions options =
        node.options(BuiltinOptions.DepthwiseConv2DOptions, new DepthwiseConv2DOptions());
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
    inputs.add(node.in(0));
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
  private static void addDilation(Node node, int width, int height, List<Integer> inputs) {
    if (width != 1 || height != 1) {
      inputs.add(node.bool(false));
      inputs.add(node.int32(width));
      inputs.add(node.int32(height));
    }
  }

  private static void transposed(Node node) throws ModelFormatException {
    TransposeConvOptions options =
        node.options(BuiltinOptions.TransposeConvOptions, new TransposeConvOptions());
    int[] outputShape = node.ints(0);
    int filter = Weights.filter(node, 2, 1, 0);
    Shape shape = rank4(node, filter);
    int data = node.in(2);
    List<Integer> inputs = new ArrayList<>();
    inputs.add(data);
    inputs.add(filter);
    inputs.add(Weights.bias(node, 2, 3, filter, shape.dimension(0)));
    inputs.add(node.int32Vector(outputShape));
    inputs.add(node.int32(padding(node, node.get(options::padding))));
    inputs.add(node.int32(node.get(options::strideW)));
    inputs.add(node.int32(node.get(options::strideH)));
    inputs.add(node.int32(node.fused(node.get(options::fusedActivationFunction))));
    inputs.add(node.bool(false));
    node.emit(OperationCode.TRANSPOSE_CONV_2D, inputs, node.out(0));
  }

  private static Shape rank4(Node node, int filter) throws ModelFormatException {
    Shape shape = node.operand(filter).shape();
    node.require(shape.rank() == 4, "its filter has shape " + shape + ", not 4 dimensions");
    return shape;
  }
}
