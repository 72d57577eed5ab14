// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.Cast.Type;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.PooledRun;
import io.thalamus.x86.kernel.ReducedRows;
import io.thalamus.x86.kernel.Reducing;
import java.util.List;

/** One float of all floats along some axes: MEAN, REDUCE_SUM, REDUCE_MAX and their like. */
public final class Reduction {
  /** Floats that a call reads. */
  private static final int LONGEST = 1 << 17;

  /** Floats of a row that are added to the vectors of one sum, each of which rounds. */
  static final int MOST_OF_ROW = 1 << 12;

  /** Floats of a column that are added one after the other. */
  private static final int MOST_OF_COLUMN = 1 << 9;

  /** Floats that become one. */
  private static final int MOST_REDUCED = 1 << 22;

  /** Numbers of parts of a long run that are tried. */
  private static final int MOST_PARTS = 1 << 10;

  /** Calls of a step, where each of its results is made by one. */
  private static final int MOST_OUTER = 1 << 14;

  /** Neighbours that are reduced together: they fill a few vectors. */
  private static final int LEAST_NEIGHBOURS = 64;

  private Reduction() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    reduction(table, OperationCode.MEAN, Reducing.MEAN);
    reduction(table, OperationCode.REDUCE_SUM, Reducing.SUM);
    reduction(table, OperationCode.REDUCE_MAX, Reducing.MAXIMUM);
    reduction(table, OperationCode.REDUCE_MIN, Reducing.MINIMUM);
    reduction(table, OperationCode.REDUCE_PROD, Reducing.PRODUCT);
    truths(table, OperationCode.REDUCE_ANY, Reducing.MAXIMUM);
    truths(table, OperationCode.REDUCE_ALL, Reducing.MINIMUM);
  }

  /** Truth values are reduced as floats. */
  private static void truths(
      OperationTable.Builder<Lowering> table, OperationCode code, Reducing kind) {
    table.add(
        code,
        Reduction::isPossible,
        (operation, operands, program) -> {
          Place result = operands.output();
          Place truth = program.place(result.bytes());
          Place floats = program.place(result.bytes() * Float.BYTES);
          Place from = Casting.widen(TENSOR_BOOL8, operands.input(0), Type.FLOAT32, program);
          reduce(kind, operation, from, floats, program);
          Casting.cast(Type.FLOAT32, floats, Type.UINT8, truth, result.bytes(), program);
          StoredTables.map(TENSOR_BOOL8, value -> value == 0 ? 0 : 1, truth, result, program);
        },
        TENSOR_BOOL8);
  }

  private static void reduction(
      OperationTable.Builder<Lowering> table, OperationCode code, Reducing kind) {
    Casting.addFloats(
        table,
        code,
        Reduction::isPossible,
        (operation, operands, program) ->
            reduce(kind, operation, operands.input(0), operands.output(), program));
  }

  private static void reduce(
      Reducing kind,
      ResolvedOperation operation,
      Place source,
      Place result,
      ProgramBuilder program) {
    List<ReducedCells> steps =
        ReducedCells.steps(operation.inputShape(0), operation.view().input(1).int32s());
    reduce(kind, steps, source, result, program);
  }

  /** Writes steps of which each but the last has a place of its own for its results. */
  private static void reduce(
      Reducing kind, List<ReducedCells> steps, Place source, Place result, ProgramBuilder program) {
    Place from = source;
    for (ReducedCells step : steps) {
      Place to =
          step == steps.getLast()
              ? result
              : program.place((long) step.outer() * step.inner() * Float.BYTES);
      reduce(kind, step, from, to, program);
      from = to;
    }
  }

  private static boolean isPossible(OperationView operation) {
    OperandView input = operation.input(0);
    if (!Sizes.isPossible(input) || !operation.hasValues(1)) {
      return false;
    }
    List<ReducedCells> steps = ReducedCells.steps(input.shape(), operation.input(1).int32s());
    return !steps.isEmpty() && steps.stream().allMatch(Reduction::isPossible);
  }

  /**
   * Returns two steps for a long one, of which the first reduces equal parts: a sum of many is
   * rounded less often, and many threads can. The step alone where there are no such parts.
   */
  private static List<ReducedCells> inParts(ReducedCells step) {
    int parts = parts(step.reduced(), step.inner() == 1 ? MOST_OF_ROW : MOST_OF_COLUMN);
    ReducedCells first =
        new ReducedCells(step.outer() * parts, step.reduced() / parts, step.inner());
    return parts > 1 && isShort(first)
        ? List.of(first, new ReducedCells(step.outer(), parts, step.inner()))
        : List.of(step);
  }

  /** Returns the least number of equal parts of at most some size; 1 if there is none. */
  private static int parts(int reduced, int most) {
    int least = Math.ceilDiv(reduced, most);
    for (int parts = least; parts < least + MOST_PARTS; parts++) {
      if (reduced % parts == 0) {
        return parts;
      }
    }
    return 1;
  }

  /** Returns true if no call takes too long, and there are not too many. */
  static boolean isPossible(ReducedCells cells) {
    return inParts(cells).stream().allMatch(Reduction::isShort);
  }

  private static boolean isShort(ReducedCells cells) {
    return cells.reduced() < MOST_REDUCED && (cells.inner() == 1 || cells.outer() < MOST_OUTER);
  }

  /** Writes what becomes of the middle dimension of a tensor of three. */
  static void reduce(
      Reducing kind, ReducedCells cells, Place from, Place to, ProgramBuilder program) {
    List<ReducedCells> steps = inParts(cells);
    if (steps.size() > 1) {
      reduce(kind, steps, from, to, program);
      return;
    }
    if (cells.inner() == 1) {
      FunctionSource rows = new ReducedRows(kind, cells.reduced());
      int most = Math.max(1, LONGEST / cells.reduced());
      program.callInParts(rows, cells.outer(), most, from.at(0), to.at(0));
      return;
    }
    int neighbours = Math.min(cells.inner(), Math.max(LEAST_NEIGHBOURS, LONGEST / cells.reduced()));
    for (int first = 0; first < cells.inner(); first += neighbours) {
      int some = Math.min(neighbours, cells.inner() - first);
      columns(kind, cells, first, some, from, to, program);
    }
  }

  /** Some neighbouring results, over all of the outer dimension. */
  private static void columns(
      Reducing kind,
      ReducedCells cells,
      int first,
      int some,
      Place from,
      Place to,
      ProgramBuilder program) {
    int cell = cells.inner() * Float.BYTES;
    PooledRun run =
        new PooledRun(
            kind,
            1,
            0,
            cells.reduced(),
            cell,
            some,
            cells.reduced() * cell,
            cell,
            FusedActivation.NONE);
    int most = (int) Math.max(1, LONGEST / ((long) cells.reduced() * some));
    long at = (long) first * Float.BYTES;
    program.callInParts(run, cells.outer(), most, from.at(at), to.at(at));
  }
}
