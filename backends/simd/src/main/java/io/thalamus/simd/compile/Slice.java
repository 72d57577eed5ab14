// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;

/** Operations that take some elements of a tensor. */
public final class Slice {
  private Slice() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {OperationCode.SLICE, OperationCode.STRIDED_SLICE}) {
      table.add(
          code,
          Moving::isPossible,
          new Moving(),
          TENSOR_FLOAT32,
          TENSOR_QUANT8_ASYMM,
          TENSOR_QUANT8_ASYMM_SIGNED);
    }
  }
}
