// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.extension.ThalamusExtension;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.Pool2DOptions;

/** Pooling over windows of height and width. */
final class Pooling {
  private Pooling() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.AVERAGE_POOL_2D, Pooling::average);
    table.add(BuiltinOperator.MAX_POOL_2D, node -> pool(node, OperationCode.MAX_POOL_2D));
    table.add(BuiltinOperator.L2_POOL_2D, node -> pool(node, OperationCode.L2_POOL_2D));
  }

  private static void pool(Node node, OperationCode code) {
    pool(node, code, node.options(new Pool2DOptions()));
  }

  private static void pool(Node node, OperationType type, Pool2DOptions options) {
    int padding = Convolution.padding(node, node.get(options::padding));
    int strideW = node.get(options::strideW);
    int strideH = node.get(options::strideH);
    int filterW = node.get(options::filterWidth);
    int filterH = node.get(options::filterHeight);
    int activation = node.fused(node.get(options::fusedActivationFunction));
    FloatFallback.unlessQuantizedAlike(
        node,
        (input, output) ->
            node.emit(
                type,
                output,
                input,
                node.int32(padding),
                node.int32(strideW),
                node.int32(strideH),
                node.int32(filterW),
                node.int32(filterH),
                node.int32(activation)));
  }

  /**
   * NNAPI rounds up the average of stored integers that is between two, and TensorFlow Lite the
   * signed one away from zero. Averages that are never between two stay NNAPI's, which all devices
   * know.
   */
  private static void average(Node node) {
    Pool2DOptions options = node.options(new Pool2DOptions());
    long cells = (long) node.get(options::filterWidth) * node.get(options::filterHeight);
    boolean isCut = cells > 1 && node.get(options::padding) == Padding.SAME;
    Operand data = node.inOperand(0);
    boolean isCentered =
        data.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
            && (isCut || cells % 2 == 0)
            && data.quantization().equals(TensorTypes.quantization(node.output(0)));
    pool(
        node,
        isCentered ? ThalamusExtension.AVERAGE_POOL_2D : OperationCode.AVERAGE_POOL_2D,
        options);
  }
}
