// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.MatrixMultiply;
import io.thalamus.operations.ResolvedOperation;

/**
 * A layer whose results may stand between those of others, and be added to something or become a
 * function of them, where they have no activation.
 */
record FusibleLayer(Lowering lowering) implements Lowering {
  @Override
  public void lower(ResolvedOperation operation, Operands operands, ProgramBuilder program) {
    lowering.lower(operation, operands, program);
  }

  @Override
  public boolean takesFinish(ResolvedOperation operation) {
    FusedActivation activation =
        operation.parameters() instanceof Parameters convolution
            ? convolution.activation()
            : operation.parameters(MatrixMultiply.Parameters.class).activation();
    return activation == FusedActivation.NONE;
  }

  @Override
  public boolean takesTarget() {
    return true;
  }
}
