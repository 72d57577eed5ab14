// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import java.util.List;

/** Operations that put elements together, apart, or in another order. */
final class Rearrange {
  private static final List<OperationCode> OPERATIONS =
      List.of(
          OperationCode.CONCATENATION,
          OperationCode.PAD,
          OperationCode.PAD_V2,
          OperationCode.TRANSPOSE,
          OperationCode.CHANNEL_SHUFFLE,
          OperationCode.DEPTH_TO_SPACE,
          OperationCode.SPACE_TO_DEPTH,
          OperationCode.BATCH_TO_SPACE_ND,
          OperationCode.SPACE_TO_BATCH_ND,
          OperationCode.SPLIT,
          OperationCode.TILE);

  private Rearrange() {}

  static void register(KernelTable.Builder table) {
    for (OperationCode operation : OPERATIONS) {
      table.add(operation, DataMovement::kernel, ElementTypes.reals());
    }
    table
        .add(OperationCode.SPLIT, DataMovement::kernel, TENSOR_INT32)
        .add(OperationCode.TILE, DataMovement::kernel, TENSOR_INT32);
  }
}
