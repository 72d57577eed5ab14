// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.npu.machine.Footprint;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Softmax.Parameters;
import io.thalamus.operations.Softmax.StoredScores;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Scores made into probabilities along the last axis. */
final class Softmax {
  private Softmax() {}

  static void register(LoweringTable table) {
    table.add(OperationCode.SOFTMAX, Softmax::lower, ElementTypes.quantized8());
  }

  private static List<Layer<?>> lower(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape shape = operation.inputShape(0);
    if (parameters.axis() != shape.rank() - 1) {
      return List.of();
    }
    return List.of(
        new SoftmaxLayer(
            inputs.get(0),
            output,
            shape.dimension(shape.rank() - 1),
            exponentials(parameters.quantized().orElseThrow()),
            Types.flags(output.type()),
            operation.view().output().zeroPoint()));
  }

  /** By how much a score is below the largest. */
  private static Constant exponentials(StoredScores scores) {
    ByteBuffer table =
        ByteBuffer.allocate(Footprint.TABLE * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int below = 0; below < Footprint.TABLE; below++) {
      table.putInt(scores.exponential(-below));
    }
    return Constant.of(table.array());
  }
}
