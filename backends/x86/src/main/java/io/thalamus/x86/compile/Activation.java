// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.x86.kernel.Mapped;
import io.thalamus.x86.kernel.Mapped.Kind;

/** Functions of single floats. */
public final class Activation {
  /** Floats of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 14;

  private Activation() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    add(table, OperationCode.LOGISTIC, Kind.LOGISTIC);
    add(table, OperationCode.TANH, Kind.TANH);
    add(table, OperationCode.HARD_SWISH, Kind.HARD_SWISH);
    add(table, OperationCode.ABS, Kind.ABS);
    add(table, OperationCode.NEG, Kind.NEG);
    add(table, OperationCode.SQRT, Kind.SQRT);
    add(table, OperationCode.RSQRT, Kind.RSQRT);
  }

  private static void add(OperationTable.Builder<Lowering> table, OperationCode code, Kind kind) {
    table.add(
        code,
        operation -> Sizes.isPossible(operation.input(0)),
        (operation, operands, program) -> {
          long count = operation.outputShape(0).elementCount();
          for (long from = 0; from < count; from += LONGEST) {
            Mapped run = new Mapped(kind, (int) Math.min(LONGEST, count - from));
            program.call(
                run.emit(program.emitter()),
                operands.input(0),
                from * Float.BYTES,
                operands.output(),
                from * Float.BYTES,
                1);
          }
        },
        TENSOR_FLOAT32);
  }
}
