// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.npu.command.Command;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Pooling.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;

/** One result for each window over two spatial axes, channels last. */
final class Pooling {
  private static final int MAX_SIZE = (1 << 15) - 1;

  private Pooling() {}

  static void register(LoweringTable table) {
    table
        .add(OperationCode.AVERAGE_POOL_2D, Pooling::lower, Types.all())
        .add(OperationCode.MAX_POOL_2D, Pooling::lower, Types.all())
        .add(ThalamusExtension.AVERAGE_POOL_2D, Pooling::lower, ElementTypes.quantized8());
  }

  private static boolean isSmall(Window window) {
    return window.size() <= MAX_SIZE && window.stride() <= MAX_SIZE;
  }

  private static List<Layer<?>> lower(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape shape = operation.inputShape(0);
    if (parameters.layout() != DataLayout.NHWC
        || !Types.areSmall(shape)
        || !isSmall(parameters.height())
        || !isSmall(parameters.width())) {
      return List.of();
    }
    InputWindows input =
        new InputWindows(
            inputs.get(0),
            shape.dimension(1),
            shape.dimension(2),
            shape.dimension(3),
            parameters.height(),
            parameters.width(),
            Types.flags(output.type()),
            0);
    int[] out = operation.outputShape(0).toArray();
    Results results =
        new Results(
            output,
            out[0],
            out[1],
            out[2],
            out[3],
            Types.flags(output.type()),
            null,
            0,
            Types.min(parameters.stored(), parameters.activation().range()),
            Types.max(parameters.stored(), parameters.activation().range()));
    OperationType type = operation.view().type();
    int kind = 0;
    if (type == OperationCode.MAX_POOL_2D) {
      kind = Command.MAXIMUM;
    } else if (type.equals(ThalamusExtension.AVERAGE_POOL_2D)) {
      kind = Command.CENTERED;
    }
    return List.of(new PoolLayer(input, results, kind));
  }
}
