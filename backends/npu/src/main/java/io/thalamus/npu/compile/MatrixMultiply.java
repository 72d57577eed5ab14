// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.MatrixMultiply.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;

/** Products of matrices, of constant weights: convolutions of one tap over one line. */
final class MatrixMultiply {
  private static final Window ONE = new Window(1, 1, 1, 0, 0);

  private MatrixMultiply() {}

  static void register(LoweringTable table) {
    table
        .add(OperationCode.FULLY_CONNECTED, MatrixMultiply::lower, Types.all())
        .add(ThalamusExtension.FULLY_CONNECTED, MatrixMultiply::lower, ElementTypes.quantized8());
  }

  private static List<Layer<?>> lower(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    Parameters parameters = operation.parameters(Parameters.class);
    if (operation.view().input(1).value().isEmpty()
        || operation.view().input(2).value().isEmpty()
        || !Types.areSmall(Shape.of(parameters.batches()))) {
      return List.of();
    }
    InputWindows input =
        new InputWindows(
            inputs.get(0),
            1,
            parameters.batches(),
            parameters.inputSize(),
            ONE,
            ONE,
            Types.flags(output.type()),
            operation.view().input(0).zeroPoint());
    Results results =
        Products.results(
            operation,
            output,
            new int[] {1, 1, parameters.batches(), parameters.units()},
            parameters.quantized(),
            parameters.activation(),
            context);
    ProductWeights weights =
        new ProductWeights(
            Products.weights(operation, context),
            parameters.units(),
            1,
            parameters.inputSize(),
            output.elementSize(),
            context.architecture().array().columns(),
            Products.center(operation));
    return List.of(new ProductLayer(input, results, weights, Products.weightZero(operation)));
  }
}
