// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.convert.FloatFallback.Unary;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.Pool2DOptions;

/** Pooling over windows of height and width. */
final class Pooling {
  /** Cells of a window beyond which an average is seldom between two bytes: one in as many is. */
  private static final int MOST_HALVED = 16;

  private Pooling() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.AVERAGE_POOL_2D, Pooling::average);
    table.add(BuiltinOperator.MAX_POOL_2D, node -> pool(node, OperationCode.MAX_POOL_2D));
    table.add(BuiltinOperator.L2_POOL_2D, node -> pool(node, OperationCode.L2_POOL_2D));
  }

  private static void pool(Node node, OperationCode code) throws ModelFormatException {
    pool(node, code, node.options(new Pool2DOptions()));
  }

  private static void pool(Node node, OperationCode code, Pool2DOptions options)
      throws ModelFormatException {
    int activation = node.fused(node.get(options::fusedActivationFunction));
    FloatFallback.unlessQuantizedAlike(node, windows(node, code, options, activation));
  }

  /** The pooling of an operand into an operand. */
  private static Unary windows(Node node, OperationCode code, Pool2DOptions options, int activation)
      throws ModelFormatException {
    int padding = Convolution.padding(node, node.get(options::padding));
    int strideW = node.get(options::strideW);
    int strideH = node.get(options::strideH);
    int filterW = node.get(options::filterWidth);
    int filterH = node.get(options::filterHeight);
    return (input, output) ->
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
            output);
  }

  /**
   * NNAPI rounds up the average of stored integers that is between two, and TensorFlow Lite the
   * signed one away from zero. The average of floats has the exact half, and QUANTIZE rounds it as
   * TensorFlow Lite does; the last cast gives the same bytes the scale of the result. Averages over
   * many cells stay what accelerators of stored integers compute.
   */
  private static void average(Node node) throws ModelFormatException {
    Pool2DOptions options = node.options(new Pool2DOptions());
    Operand data = node.inOperand(0);
    if (!isHalved(node, options, data)) {
      pool(node, OperationCode.AVERAGE_POOL_2D, options);
      return;
    }
    Unary windows = windows(node, OperationCode.AVERAGE_POOL_2D, options, 0);
    node.emitActivated(
        node.get(options::fusedActivationFunction),
        output -> {
          Operand result = node.operand(output);
          int numbers = node.temporary(OperandCode.TENSOR_FLOAT32, data.shape(), Quantization.NONE);
          int means = node.temporary(OperandCode.TENSOR_FLOAT32, result.shape(), Quantization.NONE);
          int whole = node.temporary(data.type(), result.shape(), Quantization.of(1, 0));
          node.emit(ThalamusExtension.CAST, List.of(node.in(0)), numbers);
          windows.emit(numbers, means);
          node.emit(OperationCode.QUANTIZE, List.of(means), whole);
          node.emit(ThalamusExtension.CAST, List.of(whole), output);
        });
  }

  /** Returns whether averages of signed bytes are often between two of them. */
  private static boolean isHalved(Node node, Pool2DOptions options, Operand data)
      throws ModelFormatException {
    long cells = (long) node.get(options::filterWidth) * node.get(options::filterHeight);
    boolean isCut = cells > 1 && node.get(options::padding) == Padding.SAME;
    return data.type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
        && cells <= MOST_HALVED
        && (isCut || cells % 2 == 0)
        && data.quantization().equals(TensorTypes.quantization(node.output(0)));
  }
}
