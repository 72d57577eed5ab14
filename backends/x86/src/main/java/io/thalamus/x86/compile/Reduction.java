// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.PooledRun;

/** MEAN of floats over axes that stand side by side. */
public final class Reduction {
  /** Floats that a call reads. */
  private static final int LONGEST = 1 << 17;

  private Reduction() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(OperationCode.MEAN, Reduction::isPossible, Reduction::mean, TENSOR_FLOAT32);
  }

  private static boolean isPossible(OperationView operation) {
    OperandView input = operation.input(0);
    return Sizes.isPossible(input)
        && operation.input(1).value().isPresent()
        && operation.input(2).value().isPresent()
        && ReducedCells.of(input.shape(), operation.input(1).int32s()).isPresent();
  }

  private static void mean(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    ReducedCells cells =
        ReducedCells.of(operation.inputShape(0), operation.view().input(1).int32s()).orElseThrow();
    int cell = cells.inner() * Float.BYTES;
    PooledRun run =
        new PooledRun(
            false,
            1,
            0,
            cells.reduced(),
            cell,
            cells.inner(),
            cells.reduced() * cell,
            cell,
            FusedActivation.NONE);
    int most = (int) Math.max(1, LONGEST / ((long) cells.reduced() * cells.inner()));
    for (int block = 0; block < cells.outer(); block += most) {
      program.call(
          run.emit(program.emitter()),
          operands.input(0),
          (long) block * run.windowStep(),
          operands.output(),
          (long) block * cell,
          Math.min(most, cells.outer() - block));
    }
  }
}
