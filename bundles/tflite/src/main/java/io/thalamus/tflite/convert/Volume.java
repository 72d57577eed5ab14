// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
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
  private static final int VALID = 2;

  private Volume() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.CONV_3D, Volume::convolution);
    table.add(BuiltinOperator.CONV_3D_TRANSPOSE, Volume::transposed);
  }

  private static void convolution(Node node) {
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
    int bias = bias(node, 2, channels);
    List<Integer> inputs = new ArrayList<>();
    inputs.add(images);
    inputs.add(filter(node, window, false));
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

  private static int bias(Node node, int input, int channels) {
    return node.has(input)
        ? node.inFloats(input)
        : node.float32Tensor(
            Shape.of(channels), node.constants().zeros(4L * channels, node.output(0)));
  }

  /**
   * The numbers with zeros between and around them, over which the filter goes in reverse order,
   * one step at a time.
   */
  private static void transposed(Node node) {
    Conv3DOptions options = node.options(new Conv3DOptions());
    int[] sizes = node.ints(0);
    Shape window = TensorTypes.shape(node.input(1));
    int input = node.in(2);
    Shape shape = node.operand(input).shape();
    node.require(
        shape.rank() == RANK
            && window.rank() == RANK
            && sizes.length == RANK
            && sizes[0] == shape.dimension(0)
            && shape.isFullySpecified()
            && window.isFullySpecified()
            && window.dimension(4) == shape.dimension(4)
            && window.dimension(3) == sizes[4]
            && node.get(options::dilationDFactor) == 1
            && node.get(options::dilationHFactor) == 1
            && node.get(options::dilationWFactor) == 1
            && node.operand(input).type() == OperandCode.TENSOR_FLOAT32,
        "its input has shape " + shape + " and its filter " + window);
    int padding = Convolution.padding(node, node.get(options::padding));
    int[] strides = {
      node.get(options::strideD), node.get(options::strideH), node.get(options::strideW)
    };
    int spread = input;
    for (int i = 0; i < strides.length; i++) {
      int reach = window.dimension(i);
      int cells = shape.dimension(i + 1);
      int stride = strides[i];
      node.require(stride > 0, "its stride is " + stride);
      long covered = (long) (cells - 1) * stride + reach;
      long cut = padding == SAME ? Math.max(0, covered - sizes[i + 1]) : 0;
      long before = reach - 1 - cut / 2;
      long after = sizes[i + 1] + reach - 1 - before - ((long) (cells - 1) * stride + 1);
      node.require(
          before >= 0 && after >= 0 && after < Integer.MAX_VALUE,
          "a result of %s cells does not fit %s of its input".formatted(sizes[i + 1], cells));
      spread = spread(node, spread, i + 1, stride, (int) before, (int) after);
    }
    Shape wide = node.operand(spread).shape();
    int results = sizes[1];
    int channels = sizes[4];
    int depth = window.dimension(0);
    int slice = Math.toIntExact(wide.elementCount() / wide.dimension(0) / wide.dimension(1));
    int slices =
        Reshape.reshaped(node, spread, Shape.of(wide.dimension(0), wide.dimension(1), slice));
    int images = sideBySide(node, slices, wide, results, depth, 1, 1);
    int sums =
        node.compute(
            OperationCode.CONV_2D,
            node.operand(input),
            Shape.NONE,
            images,
            filter(node, window, true),
            bias(node, 3, channels),
            node.int32(VALID),
            node.int32(1),
            node.int32(1),
            node.int32(node.fused(node.get(options::fusedActivationFunction))));
    int output = node.out(0);
    node.builder().reshape(output, Shape.of(sizes));
    Reshape.emit(node, sums, output);
  }

  /** Zeros behind each cell along an axis but the last, then more around all. */
  private static int spread(Node node, int input, int axis, int stride, int before, int after) {
    Operand data = node.operand(input);
    Shape shape = data.shape();
    int cells = shape.dimension(axis);
    int outer = 1;
    for (int i = 0; i < axis; i++) {
      outer = Math.multiplyExact(outer, shape.dimension(i));
    }
    int inner = Math.toIntExact(shape.elementCount() / outer / cells);
    int rows = Reshape.reshaped(node, input, Shape.of(outer, cells, 1, inner));
    int wide = padded(node, rows, Shape.of(outer, cells, stride, inner), 2, 0, stride - 1);
    int line = Reshape.reshaped(node, wide, Shape.of(outer, cells * stride, inner));
    int length = (cells - 1) * stride + 1 + before + after;
    int behind = after - (stride - 1);
    int all =
        padded(
            node,
            line,
            Shape.of(outer, cells * stride + before + Math.max(0, behind), inner),
            1,
            before,
            Math.max(0, behind));
    int kept = node.temporary(data, Shape.of(outer, length, inner));
    long row = (long) node.operand(all).shape().dimension(1) * inner;
    Strided.emit(node, all, node.operand(kept).shape(), 0, new long[] {row, inner, 1}, kept);
    return Reshape.reshaped(node, kept, shape.with(axis, length));
  }

  private static int padded(Node node, int input, Shape shape, int axis, int before, int after) {
    if (before == 0 && after == 0) {
      return input;
    }
    int[] margins = new int[2 * shape.rank()];
    margins[2 * axis] = before;
    margins[2 * axis + 1] = after;
    return node.compute(
        OperationCode.PAD,
        node.operand(input),
        shape,
        input,
        node.int32Tensor(Shape.of(shape.rank(), 2), margins));
  }

  /** Slices of zeros before and after, as rows of one batch each. */
  private static int padded(Node node, int input, int missing) {
    Operand data = node.operand(input);
    Shape shape = data.shape();
    int slice = Math.toIntExact(shape.elementCount() / shape.dimension(0) / shape.dimension(1));
    int rows =
        Reshape.reshaped(node, input, Shape.of(shape.dimension(0), shape.dimension(1), slice));
    int before = missing / 2;
    Shape all = Shape.of(shape.dimension(0), shape.dimension(1) + missing, slice);
    return padded(node, rows, all, 1, before, missing - before);
  }

  /** For each result along the depth an image whose channels are those of all slices it sums. */
  private static int sideBySide(
      Node node, int slices, Shape shape, int results, int depth, int stride, int dilation) {
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

  /**
   * The weights as a convolution of images has them: an image for each output channel, which in
   * those of a transposed convolution comes first, and whose cells are in reverse order.
   */
  private static int filter(Node node, Shape window, boolean isTransposed) {
    float[] weights = node.floats(1);
    int[] sizes = window.toArray();
    long[] strides = StridedCopy.strides(window);
    float[] turned = new float[weights.length];
    int next = 0;
    int outputs = isTransposed ? sizes[3] : sizes[4];
    int inputs = isTransposed ? sizes[4] : sizes[3];
    for (int out = 0; out < outputs; out++) {
      for (int y = 0; y < sizes[1]; y++) {
        for (int x = 0; x < sizes[2]; x++) {
          for (int z = 0; z < sizes[0]; z++) {
            for (int in = 0; in < inputs; in++) {
              long cell = z * strides[0] + y * strides[1] + x * strides[2];
              long last = (sizes[0] - 1) * strides[0] + (sizes[1] - 1) * strides[1];
              last += (sizes[2] - 1) * strides[2];
              long place =
                  isTransposed ? last - cell + out * strides[3] + in : cell + in * strides[3] + out;
              turned[next++] = weights[(int) place];
            }
          }
        }
      }
    }
    Shape shape = Shape.of(outputs, sizes[1], sizes[2], sizes[0] * inputs);
    return node.float32Tensor(shape, node.constants().of(turned, node.input(1)));
  }
}
