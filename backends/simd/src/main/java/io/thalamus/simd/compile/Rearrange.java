// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.extension.ThalamusExtension;

/** Operations that put elements together, or in another order. */
public final class Rearrange {
  private Rearrange() {}

  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationType code :
        new OperationType[] {OperationCode.CONCATENATION, ThalamusExtension.CONCATENATION}) {
      table.add(code, Rearrange::isConcatenationPossible, Moving::step, Moving.TYPES);
    }
    table.add(ThalamusExtension.PACK, Rearrange::isPackPossible, Moving::step, Moving.TYPES);
    Moving.register(table);
  }

  /** The axis comes first. */
  private static boolean isPackPossible(OperationView operation) {
    return operation.input(0).value().isPresent()
        && operation.inputs().stream().skip(1).allMatch(OperandView::isShapeKnown);
  }

  /** The axis comes last. */
  private static boolean isConcatenationPossible(OperationView operation) {
    int tensors = operation.inputs().size() - 1;
    return operation.input(tensors).value().isPresent()
        && operation.inputs().stream().limit(tensors).allMatch(input -> input.isShapeKnown());
  }
}
