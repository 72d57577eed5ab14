// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;

/** Operations on dimensions. */
final class Reshape {
  private Reshape() {}

  static void register(KernelTable.Builder table) {
    table
        .add(OperationCode.RESHAPE, operation -> DataMovement.unchanged(), ElementTypes.reals())
        .add(OperationCode.SQUEEZE, operation -> DataMovement.unchanged(), ElementTypes.reals())
        .add(
            OperationCode.EXPAND_DIMS,
            operation -> DataMovement.unchanged(),
            ElementTypes.numbers())
        .add(OperationCode.RANK, Reshape::rank, ElementTypes.tensors())
        .add(OperationCode.FILL, Reshape::fill, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32);
  }

  private static Kernel rank(ResolvedOperation operation) {
    int rank = operation.inputShape(0).rank();
    return (inputs, outputs, scratch, work) -> Elements.INT32.setInt(outputs[0], 0, rank);
  }

  private static Kernel fill(ResolvedOperation operation) {
    DataMovement mover = DataMovement.of(operation.view().output().type());
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        mover.copy(work, inputs[1], 0, outputs[0], i, 1);
      }
    };
  }
}
