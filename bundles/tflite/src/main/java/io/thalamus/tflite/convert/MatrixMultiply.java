// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.List;
import org.tensorflow.lite.schema.BatchMatMulOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.FullyConnectedOptionsWeightsFormat;
import org.tensorflow.lite.schema.TensorType;

/** Dense layers and products of matrices. */
final class MatrixMultiply {
  private static final int VALID = 2;
  private static final int MAX_RANK = 4;

  private MatrixMultiply() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.FULLY_CONNECTED, MatrixMultiply::fullyConnected);
    table.add(BuiltinOperator.BATCH_MATMUL, MatrixMultiply::batchMatMul);
  }

  /**
   * NNAPI's FULLY_CONNECTED gives two dimensions, and so do we where the file has two; otherwise
   * its output is reshaped. With a scale per output channel, which NNAPI has for convolutions only,
   * the layer becomes a convolution with a window of 1x1 over the very same weights.
   */
  private static void fullyConnected(Node node) {
    FullyConnectedOptions options = node.options(new FullyConnectedOptions());
    node.require(
        node.get(options::weightsFormat) == FullyConnectedOptionsWeightsFormat.DEFAULT,
        "its weights are shuffled, which NNAPI does not have");
    int activation = node.fused(node.get(options::fusedActivationFunction));
    FlatTensor weights = node.input(1);
    Shape shape = TensorTypes.shape(weights);
    node.require(
        shape.rank() == 2 && shape.isFullySpecified(),
        "its weights have shape " + shape + ", not two dimensions");
    if (Weights.isPerChannel(weights) && FloatFallback.isQuantized8(node.inOperand(0))) {
      asConvolution(node, shape, activation);
      return;
    }
    int filter = Weights.filter(node, 0, 1, 0);
    int bias = Weights.bias(node, 0, 2, filter, shape.dimension(0));
    int input = node.in(0);
    Shape given = node.operand(input).shape();
    boolean isOfRows = given.rank() > 0 && given.dimension(given.rank() - 1) == columns(shape);
    if (given.rank() > MAX_RANK || given.rank() == 1 || !isOfRows && Hybrid.isWanted(node, 0)) {
      input = Reshape.reshaped(node, input, Shape.of(rows(node, given, shape), columns(shape)));
    }
    input = Hybrid.rows(node, input, node.get(options::asymmetricQuantizeInputs));
    List<Integer> inputs = List.of(input, filter, bias, node.int32(activation));
    int output = output(node, given, shape);
    Operand target = node.operand(output);
    if (target.shape().rank() == 2) {
      node.emit(OperationCode.FULLY_CONNECTED, inputs, output);
      return;
    }
    int flat = node.temporary(target, Shape.of(rows(node, given, shape), shape.dimension(0)));
    node.emit(OperationCode.FULLY_CONNECTED, inputs, flat);
    Reshape.emit(node, flat, output);
  }

  /** The result's operand; its leading sizes are those of the data, which the file may not know. */
  private static int output(Node node, Shape given, Shape weights) {
    int output = node.out(0);
    int last = given.rank() - 1;
    if (given.isFullySpecified() && node.output(0).shape().length == 0) {
      // Of files that state no dimensions; those that keep them are younger.
      node.builder().reshape(output, Shape.of(rows(node, given, weights), weights.dimension(0)));
    } else if (given.isFullySpecified()
        && last > 1
        && node.operand(output).shape().rank() == given.rank()
        && given.dimension(last) == columns(weights)) {
      node.builder().reshape(output, given.with(last, weights.dimension(0)));
    }
    return output;
  }

  private static void asConvolution(Node node, Shape shape, int activation) {
    int rows = rows(node, node.shapeOf(0), shape);
    Shape window = Shape.of(shape.dimension(0), 1, 1, columns(shape));
    int filter = Weights.perChannel(node, node.input(1), 0, window);
    int bias = Weights.bias(node, 0, 2, filter, shape.dimension(0));
    int image = Reshape.reshaped(node, node.in(0), Shape.of(rows, 1, 1, columns(shape)));
    int output = output(node, node.shapeOf(0), shape);
    int result =
        node.compute(
            OperationCode.CONV_2D,
            node.operand(output),
            Shape.of(rows, 1, 1, shape.dimension(0)),
            image,
            filter,
            bias,
            node.int32(VALID),
            node.int32(1),
            node.int32(1),
            node.int32(activation));
    Reshape.emit(node, result, output);
  }

  /** NNAPI 1.3 has no product of two computed matrices; the extension io.thalamus has. */
  private static void batchMatMul(Node node) {
    BatchMatMulOptions options = node.options(new BatchMatMulOptions());
    boolean isOfColumns = node.get(options::adjX);
    if (node.output(0).is(TensorType.INT32) && FloatFallback.isQuantized8(node.inOperand(0))) {
      node.emit(
          ThalamusExtension.BATCH_MATMUL,
          node.out(0),
          stored(node, 0),
          stored(node, 1),
          node.bool(isOfColumns),
          node.bool(node.get(options::adjY)));
      return;
    }
    node.emit(
        ThalamusExtension.BATCH_MATMUL,
        node.out(0),
        isOfColumns
            ? node.in(0)
            : Hybrid.rows(node, node.in(0), node.get(options::asymmetricQuantizeInputs)),
        node.in(1),
        node.bool(isOfColumns),
        node.bool(node.get(options::adjY)));
  }

  /** The stored numbers: without a scale for its results, TensorFlow Lite takes them as such. */
  private static int stored(Node node, int input) {
    return Bits.converted(node, node.in(input), OperandCode.TENSOR_INT32);
  }

  private static int columns(Shape weights) {
    return weights.dimension(1);
  }

  /** Returns the number of vectors in the input; 0 when it is unknown. */
  private static int rows(Node node, Shape input, Shape weights) {
    long count = 1;
    for (int dimension : input.toArray()) {
      count *= dimension;
      node.require(count <= Integer.MAX_VALUE, "its input has shape " + input);
    }
    node.require(
        count % columns(weights) == 0,
        "its input of shape " + input + " does not fit weights of shape " + weights);
    return (int) (count / columns(weights));
  }

  /** The products of rows with the rows of a matrix. */
  static int times(Node node, int data, int matrix) {
    Operand weights = node.operand(matrix);
    int results = weights.shape().dimension(0);
    int bias = node.float32Tensor(Shape.of(results), node.constants().room(results, node.input(0)));
    return node.compute(
        OperationCode.FULLY_CONNECTED,
        weights,
        Shape.of(node.operand(data).shape().dimension(0), results),
        data,
        matrix,
        bias,
        node.int32(0));
  }
}
