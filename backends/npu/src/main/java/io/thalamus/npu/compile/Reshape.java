// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.model.OperationCode;
import io.thalamus.operations.ResolvedOperation;
import java.util.List;

/** Operations that give a tensor other dimensions: the same place by another name. */
final class Reshape {
  private static final Lowering ALIAS =
      new Lowering() {
        @Override
        public List<Layer<?>> lower(
            ResolvedOperation operation,
            List<Tensor> inputs,
            Tensor output,
            LoweringContext context) {
          return List.of();
        }

        @Override
        public boolean isAlias() {
          return true;
        }
      };

  private Reshape() {}

  static void register(LoweringTable table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RESHAPE, OperationCode.SQUEEZE, OperationCode.EXPAND_DIMS
        }) {
      table.add(code, ALIAS, Types.all());
    }
  }
}
