// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Softmax.Parameters;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Reducing;
import io.thalamus.x86.kernel.SoftmaxRows;

/** Float scores made into probabilities, or their logarithms, along an axis. */
public final class Softmax {
  /** Floats of a call. */
  private static final int LONGEST = 1 << 14;

  /** Floats of a row. */
  private static final int MOST = 1 << 20;

  private Softmax() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    Casting.addFloats(table, OperationCode.SOFTMAX, Softmax::isPossible, Softmax::probabilities);
    Casting.addFloats(table, OperationCode.LOG_SOFTMAX, Softmax::isPossible, Softmax::logarithms);
  }

  private static boolean isPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0)) || !operation.hasValues(1)) {
      return false;
    }
    return StaticGraph.parameters(operation, Parameters.class)
        .map(parameters -> Composed.cells(operation.input(0).shape(), parameters.axis()))
        .filter(cells -> cells.reduced() <= MOST && Composed.isPossible(cells))
        .isPresent();
  }

  private static ReducedCells cells(ResolvedOperation operation) {
    return Composed.cells(operation.inputShape(0), operation.parameters(Parameters.class).axis());
  }

  private static void probabilities(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    ReducedCells cells = cells(operation);
    if (cells.inner() > 1) {
      Composed steps = new Composed(cells, program);
      Place exponentials = steps.map(Kind.EXP, scores(operation, operands, steps));
      Place sum = steps.reduce(Reducing.SUM, exponentials);
      steps.spread(Pair.DIV, exponentials, sum, operands.output());
      return;
    }
    int count = cells.reduced();
    SoftmaxRows row = new SoftmaxRows(count, operation.parameters(Parameters.class).beta());
    int most = Math.max(1, LONGEST / count);
    program.callInParts(row, cells.outer(), most, operands.input(0).at(0), operands.output().at(0));
  }

  private static void logarithms(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Composed steps = new Composed(cells(operation), program);
    Place scores = scores(operation, operands, steps);
    Place sum = steps.reduce(Reducing.SUM, steps.map(Kind.EXP, scores));
    steps.spread(Pair.SUB, scores, steps.map(Kind.LOG, sum), operands.output());
  }

  /** Scores less the largest, times beta. */
  private static Place scores(
      ResolvedOperation operation, Lowering.Operands operands, Composed steps) {
    float beta = operation.parameters(Parameters.class).beta();
    Place input = operands.input(0);
    Place distances = steps.newWhole();
    steps.spread(Pair.SUB, input, steps.reduce(Reducing.MAXIMUM, input), distances);
    return beta == 1 ? distances : steps.with(Pair.MUL, distances, beta);
  }
}
