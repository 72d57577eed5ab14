// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Pooling.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.kernel.BytePool;
import io.thalamus.x86.kernel.BytePool.Kind;
import java.util.List;
import java.util.Optional;

/**
 * Means and maxima of stored bytes: AVERAGE_POOL_2D, MAX_POOL_2D, and MEAN of one block of axes.
 */
public final class StoredPooling {
  /** Bytes that a call sees: some tens of microseconds. */
  private static final long MOST_SEEN = 1 << 17;

  /** Calls of an operation. */
  private static final long MOST_CALLS = 1 << 16;

  private StoredPooling() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationType code :
        List.of(
            OperationCode.AVERAGE_POOL_2D,
            OperationCode.MAX_POOL_2D,
            ThalamusExtension.AVERAGE_POOL_2D)) {
      Kind kind = code == OperationCode.MAX_POOL_2D ? Kind.MAXIMUM : Kind.MEAN;
      table.add(
          code,
          StoredPooling::isPossible,
          (operation, operands, program) -> pool(kind, operation, operands, program),
          ElementTypes.quantized8());
    }
    table.add(
        OperationCode.MEAN,
        StoredPooling::areCellsPossible,
        StoredPooling::mean,
        ElementTypes.quantized8());
    for (OperationCode code :
        new OperationCode[] {OperationCode.REDUCE_MAX, OperationCode.REDUCE_MIN}) {
      table.add(
          code,
          StoredPooling::areCellsPossible,
          (operation, operands, program) ->
              extreme(code == OperationCode.REDUCE_MIN, operation, operands, program),
          ElementTypes.quantized8());
    }
  }

  private static boolean isPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0))
        || !Sizes.isPossible(operation.output())
        || !operation.hasValues(1)) {
      return false;
    }
    Optional<Parameters> parameters = StaticGraph.parameters(operation, Parameters.class);
    return parameters.isPresent()
        && parameters.get().layout() == DataLayout.NHWC
        && (long) parameters.get().height().size() * parameters.get().width().size()
            <= BytePool.MOST_CELLS
        && (long) operation.output().shape().dimension(0)
                * operation.output().shape().dimension(1)
                * operation.output().shape().dimension(2)
            < MOST_CALLS;
  }

  private static void pool(
      Kind kind, ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape input = operation.inputShape(0);
    Shape result = operation.outputShape(0);
    IntRange range = parameters.stored().orElseThrow();
    int channels = input.dimension(3);
    int line = input.dimension(2) * channels;
    Window height = parameters.height();
    Window width = parameters.width();
    for (int row = 0; row < result.dimension(0) * result.dimension(1); row++) {
      int batch = row / result.dimension(1);
      int y = row % result.dimension(1);
      int top = height.firstTap(y);
      int rows = height.endTap(y, input.dimension(1)) - top;
      int x = 0;
      while (x < result.dimension(2)) {
        // Windows that are cut alike are one call.
        int first = width.firstTap(x);
        int end = width.endTap(x, input.dimension(2));
        int next = x + 1;
        while (next < result.dimension(2)
            && width.firstTap(next) == first
            && width.endTap(next, input.dimension(2)) == end) {
          next++;
        }
        BytePool pool =
            new BytePool(
                kind,
                operation.view().input(0).type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
                rows,
                line,
                end - first,
                channels,
                channels,
                width.stride() * channels,
                channels,
                parameters.origin(),
                range.min(),
                range.max());
        long from =
            ((long) batch * input.dimension(1) + height.cell(y, top)) * line
                + (long) width.cell(x, first) * channels;
        long to = ((long) row * result.dimension(2) + x) * channels;
        call(pool, operands.input(0), operands.output(), program, from, to, next - x);
        x = next;
      }
    }
  }

  private static boolean areCellsPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && operation.hasValues(1)
        && ReducedCells.of(operation.input(0).shape(), operation.input(1).int32s())
            .filter(cells -> cells.reduced() <= BytePool.MOST_CELLS && cells.outer() < MOST_CALLS)
            .isPresent();
  }

  /** The least is what is the largest where all bits are the others. */
  private static void extreme(
      boolean isLeast,
      ResolvedOperation operation,
      Lowering.Operands operands,
      ProgramBuilder program) {
    Place from = operands.input(0);
    Place to = operands.output();
    if (!isLeast) {
      reduce(Kind.MAXIMUM, operation, from, to, program);
      return;
    }
    OperandCode type = (OperandCode) operation.view().output().type();
    Place turned = program.place(from.bytes());
    StoredTables.map(type, value -> ~value, from, turned, program);
    Place found = program.place(to.bytes());
    reduce(Kind.MAXIMUM, operation, turned, found, program);
    StoredTables.map(type, value -> ~value, found, to, program);
  }

  private static void mean(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    reduce(Kind.MEAN, operation, operands.input(0), operands.output(), program);
  }

  private static void reduce(
      Kind kind, ResolvedOperation operation, Place from, Place to, ProgramBuilder program) {
    ReducedCells cells =
        ReducedCells.of(operation.inputShape(0), operation.view().input(1).int32s()).orElseThrow();
    OperandView output = operation.view().output();
    IntRange range = IntRange.of((OperandCode) output.type());
    int inner = cells.inner();
    BytePool pool =
        new BytePool(
            kind,
            range.min() < 0,
            1,
            0,
            cells.reduced(),
            inner,
            inner,
            cells.reduced() * inner,
            inner,
            output.zeroPoint(),
            range.min(),
            range.max());
    call(pool, from, to, program, 0, 0, cells.outer());
  }

  private static void call(
      BytePool pool,
      Place source,
      Place output,
      ProgramBuilder program,
      long from,
      long to,
      long windows) {
    long seen = (long) pool.height() * pool.width() * pool.channels();
    long most = Math.max(1, MOST_SEEN / seen);
    program.callInParts(pool, windows, most, source.at(from), output.at(to));
  }
}
