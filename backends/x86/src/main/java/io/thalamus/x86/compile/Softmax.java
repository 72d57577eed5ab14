// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Softmax.Parameters;
import io.thalamus.x86.kernel.SoftmaxRows;

/** Float scores made into probabilities along the last axis. */
public final class Softmax {
  /** Floats of a call. */
  private static final int LONGEST = 1 << 14;

  /** Floats of a row. */
  private static final int MOST = 1 << 20;

  private Softmax() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(OperationCode.SOFTMAX, Softmax::isPossible, Softmax::lower, TENSOR_FLOAT32);
  }

  private static boolean isPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0)) || operation.input(1).value().isEmpty()) {
      return false;
    }
    Shape shape = operation.input(0).shape();
    int last = shape.rank() - 1;
    if (operation.inputs().size() > 2) {
      if (operation.input(2).value().isEmpty()) {
        return false;
      }
      int axis = operation.input(2).int32();
      if (axis != -1 && axis != last) {
        return false;
      }
    }
    return shape.dimension(last) <= MOST;
  }

  private static void lower(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Shape shape = operation.inputShape(0);
    int count = shape.dimension(shape.rank() - 1);
    long rows = shape.elementCount() / count;
    SoftmaxRows row = new SoftmaxRows(count, operation.parameters(Parameters.class).beta());
    int most = Math.max(1, LONGEST / count);
    for (long first = 0; first < rows; first += most) {
      long at = first * count * Float.BYTES;
      program.call(
          row.emit(program.emitter()),
          operands.input(0),
          at,
          operands.output(),
          at,
          Math.min(most, rows - first));
    }
  }
}
