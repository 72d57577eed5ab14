// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Pooling.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.PooledRun;
import io.thalamus.x86.kernel.Reducing;

/** One float for each window over two spatial axes; channels stand last. */
public final class Pooling {
  /** Floats that a call reads. */
  private static final int LONGEST = 1 << 17;

  private Pooling() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D}) {
      Reducing kind = code == OperationCode.MAX_POOL_2D ? Reducing.MAXIMUM : Reducing.MEAN;
      Casting.addFloats(
          table,
          code,
          Pooling::isPossible,
          (operation, operands, program) ->
              new Lines(
                      kind,
                      operation.parameters(Parameters.class).activation(),
                      operation,
                      operands.input(0),
                      operands.output(),
                      program)
                  .emit());
    }
    Casting.addFloats(table, OperationCode.L2_POOL_2D, Pooling::isPossible, Pooling::norm);
  }

  /** The root of the mean of squares. */
  private static void norm(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Place input = operands.input(0);
    Place squares = program.place(input.bytes());
    Elementwise.multiply(input, input, squares, program);
    Place means = program.place(operands.output().bytes());
    new Lines(Reducing.MEAN, FusedActivation.NONE, operation, squares, means, program).emit();
    FusedActivation activation = operation.parameters(Parameters.class).activation();
    boolean isBounded = activation != FusedActivation.NONE;
    Place roots = isBounded ? program.place(means.bytes()) : operands.output();
    Elementwise.map(Kind.SQRT, means, roots, program);
    if (isBounded) {
      Elementwise.clamp(activation, roots, operands.output(), program);
    }
  }

  private static boolean isPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0))
        || !Sizes.isPossible(operation.output())
        || !operation.hasValues(1)) {
      return false;
    }
    int layout = operation.inputs().size() >= 10 ? 10 : 7;
    OperandView last = operation.inputs().size() > layout ? operation.input(layout) : null;
    return last == null || (last.type() == OperandCode.BOOL && !last.bool());
  }

  /** The lines of one result. */
  private record Lines(
      Reducing kind,
      FusedActivation activation,
      ResolvedOperation operation,
      Place from,
      Place to,
      ProgramBuilder program) {
    private Parameters parameters() {
      return operation.parameters(Parameters.class);
    }

    void emit() {
      Shape result = operation.outputShape(0);
      for (int b = 0; b < result.dimension(0); b++) {
        for (int y = 0; y < result.dimension(1); y++) {
          line(b, y);
        }
      }
    }

    /** Windows that are cut alike stand beside each other: one call. */
    private void line(int batch, int y) {
      Window width = parameters().width();
      int inputWidth = operation.inputShape(0).dimension(2);
      int results = operation.outputShape(0).dimension(2);
      int x = 0;
      while (x < results) {
        int first = width.firstTap(x);
        int end = width.endTap(x, inputWidth);
        int next = x + 1;
        while (next < results
            && width.firstTap(next) == first
            && width.endTap(next, inputWidth) == end) {
          next++;
        }
        calls(batch, y, x, next - x, end - first);
        x = next;
      }
    }

    private void calls(int batch, int y, int x, int count, int cells) {
      Shape input = operation.inputShape(0);
      Shape result = operation.outputShape(0);
      Window height = parameters().height();
      Window width = parameters().width();
      int cell = input.dimension(3) * Float.BYTES;
      int line = input.dimension(2) * cell;
      int top = height.firstTap(y);
      int rows = height.endTap(y, input.dimension(1)) - top;
      PooledRun run =
          new PooledRun(
              kind,
              rows,
              line,
              cells,
              cell,
              input.dimension(3),
              width.stride() * cell,
              cell,
              activation);
      long read =
          ((long) batch * input.dimension(1) + height.cell(y, top)) * line
              + (long) width.cell(x, width.firstTap(x)) * cell;
      long written =
          (((long) batch * result.dimension(1) + y) * result.dimension(2) + x) * (long) cell;
      int most = (int) Math.max(1, LONGEST / ((long) rows * cells * input.dimension(3)));
      program.callInParts(run, count, most, from.at(read), to.at(written));
    }
  }
}
