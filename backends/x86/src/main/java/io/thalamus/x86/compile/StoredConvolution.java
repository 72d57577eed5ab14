// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.MatrixMultiply;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.compile.Lowering.Target;
import java.util.List;
import java.util.Optional;

/** 8-bit convolutions and fully connected layers whose weights and bias are constants. */
public final class StoredConvolution {
  /** Calls of an operation. */
  private static final long MOST_CALLS = 1 << 16;

  /** Taps of a depthwise filter, whose code is written tap by tap. */
  private static final int MOST_TAPS = 128;

  /** The product of a stored value and a weight, each less its zero point. */
  static final long LARGEST_PRODUCT = 255 * 255;

  private StoredConvolution() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationType type :
        List.of(
            OperationCode.CONV_2D,
            OperationCode.DEPTHWISE_CONV_2D,
            ThalamusExtension.CONV_2D,
            ThalamusExtension.DEPTHWISE_CONV_2D)) {
      table.add(
          type,
          StoredConvolution::isConvolutionPossible,
          new FusibleLayer(StoredConvolution::convolution),
          ElementTypes.quantized8());
    }
    for (OperationType type :
        List.of(OperationCode.FULLY_CONNECTED, ThalamusExtension.FULLY_CONNECTED)) {
      table.add(
          type,
          StoredConvolution::isProductPossible,
          new FusibleLayer(StoredConvolution::product),
          ElementTypes.quantized8());
    }
    DynamicQuantization.register(table);
    StoredMatrices.register(table);
    IntegerMatrices.register(table);
    StoredLstm.register(table);
  }

  private static boolean isConvolutionPossible(OperationView operation) {
    if (!isKnown(operation)) {
      return false;
    }
    Optional<Parameters> parameters = StaticGraph.parameters(operation, Parameters.class);
    if (parameters.isEmpty() || parameters.get().layout() != DataLayout.NHWC) {
      return false;
    }
    Shape filter = operation.input(1).shape();
    long taps = (long) filter.dimension(1) * filter.dimension(2);
    boolean isDepthwise = isDepthwise(operation);
    if (isDepthwise && (!Convolution.isRepeatable(operation) || taps > MOST_TAPS)) {
      return false;
    }
    return (long) operation.output().shape().dimension(0) * operation.output().shape().dimension(1)
            < MOST_CALLS
        && isExact(
            operation,
            parameters.get().quantized().orElseThrow(),
            taps * (isOfChannels(operation) ? 1 : filter.dimension(3)));
  }

  private static boolean isOfChannels(OperationView operation) {
    return operation.type() == OperationCode.DEPTHWISE_CONV_2D
        || operation.type().equals(ThalamusExtension.DEPTHWISE_CONV_2D);
  }

  /** A filter with one channel of input is read as if it were one of CONV_2D. */
  private static boolean isDepthwise(OperationView operation) {
    return isOfChannels(operation) && operation.input(0).shape().dimension(3) > 1;
  }

  private static boolean isProductPossible(OperationView operation) {
    if (!isKnown(operation)) {
      return false;
    }
    Optional<MatrixMultiply.Parameters> parameters =
        StaticGraph.parameters(operation, MatrixMultiply.Parameters.class);
    return parameters.isPresent()
        && isExact(
            operation,
            parameters.get().quantized().orElseThrow(),
            operation.input(1).shape().dimension(1));
  }

  private static boolean isKnown(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && Sizes.isPossible(operation.input(1))
        && Sizes.isPossible(operation.output())
        && operation.hasValues(1);
  }

  /**
   * Returns true if sums can be rescaled as the reference does it.
   *
   * @param depth products of a sum
   */
  static boolean isExact(OperationView operation, Accumulation accumulation, long depth) {
    return Scaling.isPossible(accumulation, operation.input(2).int32s(), depth * LARGEST_PRODUCT);
  }

  private static void product(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    MatrixMultiply.Parameters parameters = operation.parameters(MatrixMultiply.Parameters.class);
    Accumulation accumulation = parameters.quantized().orElseThrow();
    Window one = new Window(1, 1, 1, 0, 0);
    StoredLayer layer =
        new StoredLayer(
            1,
            1,
            parameters.batches(),
            parameters.inputSize(),
            1,
            parameters.batches(),
            parameters.units(),
            one,
            one,
            isSigned(operation.view()),
            StoredWeights.of(operation, operands, accumulation.filterZeroPoint()),
            operation.view().input(2).int32s(),
            accumulation);
    new StoredProducts(program, layer, operands.input(0), operands.target(parameters.units()))
        .emit();
  }

  private static void convolution(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Accumulation accumulation = parameters.quantized().orElseThrow();
    Shape input = operation.inputShape(0);
    Shape result = operation.outputShape(0);
    boolean isDepthwise = isDepthwise(operation.view());
    boolean isTransposed = !isDepthwise && isOfChannels(operation.view());
    Place source = operands.input(0);
    if (isDepthwise && input.dimension(3) != result.dimension(3)) {
      int times = result.dimension(3) / input.dimension(3);
      source = Channels.repeat(input, 1, times, source, program);
      input = input.with(3, result.dimension(3));
    }
    Shape filter = operation.inputShape(1);
    StoredWeights weights = StoredWeights.of(operation, operands, accumulation.filterZeroPoint());
    StoredLayer layer =
        new StoredLayer(
            input.dimension(0),
            input.dimension(1),
            input.dimension(2),
            input.dimension(3),
            result.dimension(1),
            result.dimension(2),
            result.dimension(3),
            parameters.height(),
            parameters.width(),
            isSigned(operation.view()),
            isTransposed ? weights.transposed(filter.dimension(1) * filter.dimension(2)) : weights,
            operation.view().input(2).int32s(),
            accumulation);
    Target target = operands.target(result.dimension(3));
    if (isDepthwise) {
      new StoredChannels(program, layer, source, target).emit();
    } else {
      new StoredProducts(program, layer, source, target).emit();
    }
  }

  static boolean isSigned(OperationView operation) {
    return operation.input(0).type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
  }
}
