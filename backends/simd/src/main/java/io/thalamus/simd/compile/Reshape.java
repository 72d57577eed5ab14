// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.OperationView;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Step;

/** Operations that give a tensor other dimensions: the same place by another name. */
public final class Reshape {
  static final Lowering ALIAS =
      new Lowering.OfFirst() {
        @Override
        public Step lower(Node node, Tensors tensors, Budget budget) {
          throw new IllegalStateException("an alias has no step");
        }

        @Override
        public boolean isAlias() {
          return true;
        }
      };

  private Reshape() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RESHAPE, OperationCode.SQUEEZE, OperationCode.EXPAND_DIMS
        }) {
      table.add(code, Reshape::isPossible, ALIAS, Moving.TYPES);
    }
  }

  private static boolean isPossible(OperationView operation) {
    return operation.input(0).isShapeKnown() && operation.hasValuesWhereGiven(1);
  }
}
