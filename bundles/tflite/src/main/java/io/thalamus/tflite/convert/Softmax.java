// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.SoftmaxOptions;

/** Softmax and its logarithm, along the last dimension. */
final class Softmax {
  private static final float SCALE = 1f / 256;
  private static final int LAST = -1;
  private static final int MAX_RANK = 4;

  private Softmax() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.SOFTMAX, Softmax::softmax);
    table.add(BuiltinOperator.LOG_SOFTMAX, Softmax::logSoftmax);
  }

  private static void softmax(Node node) {
    SoftmaxOptions options = node.options(new SoftmaxOptions());
    float beta = node.get(options::beta);
    FloatFallback.unlessQuantized(
        node,
        SCALE,
        0,
        -128,
        (input, output) ->
            flat(
                node,
                input,
                output,
                (from, to) ->
                    node.emit(
                        OperationCode.SOFTMAX, to, from, node.floatFor(node.operand(from), beta))));
  }

  private static void logSoftmax(Node node) {
    FloatFallback.always(
        node,
        (input, output) ->
            flat(
                node,
                input,
                output,
                (from, to) ->
                    node.emit(
                        OperationCode.LOG_SOFTMAX,
                        to,
                        from,
                        node.floatFor(node.operand(from), 1),
                        node.int32(LAST))));
  }

  /** The operation on rows where there are more dimensions than NNAPI has. */
  private static void flat(Node node, int input, int output, FloatFallback.Unary operation) {
    Operand data = node.operand(input);
    Shape shape = data.shape();
    if (shape.rank() <= MAX_RANK) {
      operation.emit(input, output);
      return;
    }
    node.require(shape.isFullySpecified(), "its data have shape " + shape);
    int last = shape.dimension(shape.rank() - 1);
    Shape rows = Shape.of(Math.toIntExact(shape.elementCount() / last), last);
    int result = node.temporary(node.operand(output), rows);
    operation.emit(Reshape.reshaped(node, input, rows), result);
    node.builder().reshape(output, shape);
    Strided.reshape(node, result, shape, output);
  }
}
