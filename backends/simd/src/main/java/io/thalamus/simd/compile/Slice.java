// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;

/** Operations that take some elements of a tensor. */
public final class Slice {
  private Slice() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    Moving.register(table, OperationCode.SLICE, OperationCode.STRIDED_SLICE, OperationCode.SPLIT);
  }
}
