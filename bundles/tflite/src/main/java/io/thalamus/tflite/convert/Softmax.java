// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.SoftmaxOptions;

/** Softmax and its logarithm, along the last dimension. */
final class Softmax {
  private static final float SCALE = 1f / 256;
  private static final int LAST = -1;

  private Softmax() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.SOFTMAX, Softmax::softmax);
    table.add(BuiltinOperator.LOG_SOFTMAX, Softmax::logSoftmax);
  }

  private static void softmax(Node node) throws ModelFormatException {
    SoftmaxOptions options = node.options(new SoftmaxOptions());
    float beta = node.get(options::beta);
    FloatFallback.unlessQuantized(
        node,
        SCALE,
        0,
        -128,
        (input, output) ->
            node.emit(
                OperationCode.SOFTMAX,
                List.of(input, node.floatFor(node.operand(input), beta)),
                output));
  }

  private static void logSoftmax(Node node) throws ModelFormatException {
    FloatFallback.always(
        node,
        (input, output) ->
            node.emit(
                OperationCode.LOG_SOFTMAX,
                List.of(input, node.floatFor(node.operand(input), 1), node.int32(LAST)),
                output));
  }
}
