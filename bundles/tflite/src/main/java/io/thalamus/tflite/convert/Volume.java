// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.StridedCopy;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.Conv3DOptions;

/**
 * Convolutions of volumes: the slices under a window's depth stand beside each other as channels of
 * images, over which one convolution of images is the same sum. The weights are put in that order
 * while the model is read.
 */
final class Volume {
  private static final int RANK = 5;
  private static final int SAME = 1;

  private Volume() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.CONV_3D, Volume::convolution);
  }

  private static void convolution(Node node) throws ModelFormatException {
    Conv3DOptions options = node.options(new Conv3DOptions());
    int input = node.in(0);
    Operand data = node.operand(input);
    Shape shape = data.shape();
    Shape window = TensorTypes.shape(node.input(1));
    node.require(
        shape.rank() == RANK
            && window.rank() == RANK
            && shape.isFullySpecified()
            && window.isFullySpecified()
            && window.dimension(3) == shape.dimension(4)
            && data.type() == OperandCode.TENSOR_FLOAT32,
        "its input has shape " + shape + " and its filter " + window);
    int padding = Convolution.padding(node, node.get(options::padding));
    int stride = node.get(options::strideD);
    int dilation = node.get(options::dilationDFactor);
    node.require(stride > 0 && dilation > 0, "its stride is " + stride);
    int depth = window.dimension(0);
    int reach = Math.addExact(Math.multiplyExact(depth - 1, dilation), 1);
    int cells = shape.dimension(1);
    int results =
        padding == SAME
            ? Math.ceilDiv(cells, stride)
            : Math.max(0, cells - reach + stride) / stride;
    node.require(results > 0, "its window is larger than its input of shape " + shape);
    int missing =
        padding == SAME
            ? Math.max(0, Math.addExact(Math.multiplyExact(results - 1, stride), reach) - cells)
            : 0;
    int slices = padded(node, input, missing);
    int images = sideBySide(node, slices, shape, results, depth, stride, dilation);
    int channels = window.dimension(4);
    int bias =
        node.has(2)
            ? node.inFloats(2)
            : node.constant(
                OperandCode.TENSOR_FLOAT32,
                Shape.of(channels),
                Quantization.NONE,
                node.constants().zeros(4L * channels, node.output(0)));
    List<Integer> inputs = new ArrayList<>();
    inputs.add(images);
    inputs.add(filter(node, window));
    inputs.add(bias);
    inputs.add(node.int32(padding));
    inputs.add(node.int32(node.get(options::strideW)));
    inputs.add(node.int32(node.get(options::strideH)));
    inputs.add(node.int32(node.fused(node.get(options::fusedActivationFunction))));
    Convolution.addDilation(
        node, node.get(options::dilationWFactor), node.get(options::dilationHFactor), inputs);
    int sums = node.temporary(data, Shape.NONE);
    node.emit(OperationCode.CONV_2D, inputs, sums);
    Shape plane = node.operand(sums).shape();
    int output = node.out(0);
    node.builder()
        .reshape(
            output,
            Shape.of(
                shape.dimension(0), results, plane.dimension(1), plane.dimension(2), channels));
    Reshape.emit(node, sums, output);
  }

  /** Slices of zeros before and after, as rows of one batch each. */
  private static int padded(Node node, int input, int missing) throws ModelFormatException {
    Operand data = node.operand(input);
    Shape shape = data.shape();
    int slice = Math.toIntExact(shape.elementCount() / shape.dimension(0) / shape.dimension(1));
    int rows =
        Reshape.reshaped(node, input, Shape.of(shape.dimension(0), shape.dimension(1), slice));
    if (missing == 0) {
      return rows;
    }
    int before = missing / 2;
    int margins = node.int32Tensor(Shape.of(3, 2), 0, 0, before, missing - before, 0, 0);
    return node.compute(
        OperationCode.PAD,
        data,
        Shape.of(shape.dimension(0), shape.dimension(1) + missing, slice),
        rows,
        margins);
  }

  /** For each result along the depth an image whose channels are those of all slices it sums. */
  private static int sideBySide(
      Node node, int slices, Shape shape, int results, int depth, int stride, int dilation)
      throws ModelFormatException {
    Shape rows = node.operand(slices).shape();
    int slice = rows.dimension(2);
    int channels = shape.dimension(4);
    int height = shape.dimension(2);
    int width = shape.dimension(3);
    Shape places = Shape.of(shape.dimension(0), results, height * width, depth, channels);
    long[] strides = {
      (long) rows.dimension(1) * slice, (long) stride * slice, channels, (long) dilation * slice, 1
    };
    int gathered = node.temporary(node.operand(slices), places);
    Strided.emit(node, slices, places, 0, strides, gathered);
    return Reshape.reshaped(
        node, gathered, Shape.of(shape.dimension(0) * results, height, width, depth * channels));
  }

  /** The weights as a convolution of images has them: an image for each output channel. */
  private static int filter(Node node, Shape window) throws ModelFormatException {
    float[] weights = node.floats(1);
    int[] sizes = window.toArray();
    long[] strides = StridedCopy.strides(window);
    float[] turned = new float[weights.length];
    int next = 0;
    for (int out = 0; out < sizes[4]; out++) {
      for (int y = 0; y < sizes[1]; y++) {
        for (int x = 0; x < sizes[2]; x++) {
          for (int z = 0; z < sizes[0]; z++) {
            for (int in = 0; in < sizes[3]; in++) {
              turned[next++] =
                  weights[
                      (int)
                          (z * strides[0]
                              + y * strides[1]
                              + x * strides[2]
                              + in * strides[3]
                              + out)];
            }
          }
        }
      }
    }
    return node.constant(
        OperandCode.TENSOR_FLOAT32,
        Shape.of(sizes[4], sizes[1], sizes[2], sizes[0] * sizes[3]),
        Quantization.NONE,
        node.constants().of(turned, node.input(1)));
  }
}
