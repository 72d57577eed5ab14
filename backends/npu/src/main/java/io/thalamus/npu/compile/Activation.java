// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Activation.Range;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.ResolvedOperation;
import java.util.List;

/** Functions of a single stored value: tables. */
final class Activation {
  private Activation() {}

  static void register(LoweringTable table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RELU,
          OperationCode.RELU1,
          OperationCode.RELU6,
          OperationCode.LOGISTIC,
          OperationCode.TANH,
          OperationCode.HARD_SWISH
        }) {
      table.add(code, Activation::lower, ElementTypes.quantized8());
    }
  }

  private static List<Layer<?>> lower(
      ResolvedOperation operation, List<Tensor> inputs, Tensor output, LoweringContext context) {
    OperandType type = output.type();
    Constant table =
        switch (operation.parameters()) {
          case LookupTable looked -> Types.table(type, looked::apply);
          case Range range -> {
            IntRange stored = range.stored().orElseThrow();
            yield Types.table(type, stored::clamp);
          }
          default -> throw new IllegalStateException("no parameters of an activation");
        };
    return List.of(CopyLayer.through(inputs.get(0), output, table));
  }
}
