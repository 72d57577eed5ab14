// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.PooledRun;
import java.util.BitSet;
import java.util.Optional;
import java.util.stream.IntStream;

/** MEAN of floats over axes that stand side by side. */
public final class Reduction {
  /** Floats that a call reads. */
  private static final int LONGEST = 1 << 17;

  private Reduction() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table.add(OperationCode.MEAN, Reduction::isPossible, Reduction::mean, TENSOR_FLOAT32);
  }

  /**
   * A tensor by what becomes of its dimensions, in their order.
   *
   * @param outer elements over the dimensions in front, which stay
   * @param reduced elements that become one
   * @param inner elements over the dimensions behind, which stay
   */
  private record Cells(int outer, int reduced, int inner) {
    /** Empty where the axes do not stand side by side, or there are none. */
    static Optional<Cells> of(Shape shape, int[] axes) {
      int rank = shape.rank();
      BitSet reduced = new BitSet();
      for (int axis : axes) {
        if (axis < -rank || axis >= rank) {
          return Optional.empty();
        }
        reduced.set(axis < 0 ? axis + rank : axis);
      }
      int first = reduced.nextSetBit(0);
      int end = reduced.length();
      return first < 0 || reduced.cardinality() != end - first
          ? Optional.empty()
          : Optional.of(
              new Cells(
                  product(shape, 0, first), product(shape, first, end), product(shape, end, rank)));
    }

    private static int product(Shape shape, int first, int end) {
      return IntStream.range(first, end).map(shape::dimension).reduce(1, (a, b) -> a * b);
    }
  }

  private static boolean isPossible(OperationView operation) {
    OperandView input = operation.input(0);
    return Sizes.isPossible(input)
        && operation.input(1).value().isPresent()
        && operation.input(2).value().isPresent()
        && Cells.of(input.shape(), operation.input(1).int32s()).isPresent();
  }

  private static void mean(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Cells cells =
        Cells.of(operation.inputShape(0), operation.view().input(1).int32s()).orElseThrow();
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
