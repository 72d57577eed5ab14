// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.ReducedCells;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Recurrent.SvdfParameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.compile.ElementChain.Tensor;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.CellFunction;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Reducing;
import io.thalamus.x86.kernel.Strided;
import java.util.Optional;

/**
 * Filters over the last inputs: SVDF. The products of this step's inputs stand behind those that
 * each filter has kept; they are multiplied by the weights of time, and all that belong to a result
 * stand beside each other and are summed at once.
 */
final class Svdf {
  private static final int INPUT = 0;
  private static final int FEATURE_WEIGHTS = 1;
  private static final int TIME_WEIGHTS = 2;
  private static final int BIAS = 3;
  private static final int STATE = 4;

  private static final int NEXT_STATE = 0;
  private static final int RESULT = 1;

  /** Floats of a call. */
  private static final int LONGEST = 1 << 16;

  private Svdf() {}

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(OperationCode.SVDF, Svdf::isPossible, Svdf::lower, TENSOR_FLOAT32);
  }

  /** A bias that is no constant may be left out by an execution. */
  private static boolean isPossible(OperationView operation) {
    return Recurrence.areShapesKnown(operation)
        && (!operation.has(BIAS) || operation.input(BIAS).value().isPresent())
        && StaticGraph.parameters(operation, SvdfParameters.class)
            .filter(them -> CellFunction.of(them.activation()).isPresent())
            .filter(them -> Reduction.isPossible(sums(them)))
            .isPresent();
  }

  private static ReducedCells sums(SvdfParameters parameters) {
    return new ReducedCells(
        parameters.batches() * parameters.units(), parameters.rank() * parameters.memory(), 1);
  }

  private static void lower(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    SvdfParameters parameters = operation.parameters(SvdfParameters.class);
    Place state = operands.input(STATE);
    int rows = parameters.batches() * parameters.filters();
    int memory = parameters.memory();
    int row = memory * Float.BYTES;
    int newest = row - Float.BYTES;
    Place products = program.place((long) rows * Float.BYTES);
    Convolution.product(
        parameters.batches(),
        parameters.inputSize(),
        parameters.filters(),
        new Weights(
            Source.of(operation, operands, FEATURE_WEIGHTS),
            Optional.empty(),
            0,
            1,
            parameters.inputSize()),
        operands.input(INPUT),
        products,
        program);
    Place kept = program.place(state.bytes());
    Strided one = new Strided(Float.BYTES, 1, Float.BYTES, Float.BYTES, Float.BYTES, row);
    program.callInParts(one, rows, LONGEST, products.at(0), kept.at(newest));
    Strided zero = new Strided(Float.BYTES, 1, Float.BYTES, Float.BYTES, 0, row);
    program.callInParts(
        zero, rows, LONGEST, program.zero().at(0), operands.output(NEXT_STATE).at(newest));
    if (memory > 1) {
      Strided older = new Strided(Float.BYTES, memory - 1, Float.BYTES, Float.BYTES, row, row);
      int most = Math.max(1, LONGEST / memory);
      program.callInParts(older, rows, most, state.at(0), kept.at(0));
      program.callInParts(
          older, rows, most, kept.at(Float.BYTES), operands.output(NEXT_STATE).at(0));
    }
    multiply(parameters, operation, operands, kept, program);
  }

  private static void multiply(
      SvdfParameters parameters,
      ResolvedOperation operation,
      Lowering.Operands operands,
      Place kept,
      ProgramBuilder program) {
    Shape states = operation.inputShape(STATE);
    Place weighted = program.place(kept.bytes());
    Elementwise.pairs(
        Pair.MUL,
        new Tensor(kept, states),
        new Tensor(operands.input(TIME_WEIGHTS), Shape.of(states.dimension(1))),
        new Tensor(weighted, states),
        program);
    program.nextStep();
    Place result = operands.output(RESULT);
    Place sums = program.place(result.bytes());
    Reduction.reduce(Reducing.SUM, sums(parameters), weighted, sums, program);
    Place biased = sums;
    if (parameters.hasBias()) {
      Shape shape = operation.outputShape(RESULT);
      biased = program.place(result.bytes());
      Elementwise.pairs(
          Pair.ADD,
          new Tensor(sums, shape),
          new Tensor(operands.input(BIAS), Shape.of(parameters.units())),
          new Tensor(biased, shape),
          program);
    }
    CellFunction function = CellFunction.of(parameters.activation()).orElseThrow();
    Elementwise.map(count -> Recurrence.activated(function, count), biased, result, program);
  }
}
