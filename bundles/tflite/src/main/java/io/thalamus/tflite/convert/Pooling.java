// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.Pool2DOptions;

/** Pooling over windows of height and width. */
final class Pooling {
  private Pooling() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.AVERAGE_POOL_2D, node -> pool(node, OperationCode.AVERAGE_POOL_2D));
    table.add(BuiltinOperator.MAX_POOL_2D, node -> pool(node, OperationCode.MAX_POOL_2D));
    table.add(BuiltinOperator.L2_POOL_2D, node -> pool(node, OperationCode.L2_POOL_2D));
  }

  private static void pool(Node node, OperationCode code) throws ModelFormatException {
    Pool2DOptions options = node.options(new Pool2DOptions());
    int padding = Convolution.padding(node, node.get(options::padding));
    int activation = node.fused(node.get(options::fusedActivationFunction));
    int strideW = node.get(options::strideW);
    int strideH = node.get(options::strideH);
    int filterW = node.get(options::filterWidth);
    int filterH = node.get(options::filterHeight);
    FloatFallback.unlessQuantizedAlike(
        node,
        (input, output) ->
            node.emit(
                code,
                List.of(
                    input,
                    node.int32(padding),
                    node.int32(strideW),
                    node.int32(strideH),
                    node.int32(filterW),
                    node.int32(filterH),
                    node.int32(activation)),
                output));
  }
}
