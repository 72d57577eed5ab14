// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Recurrent.RnnCell;
import io.thalamus.operations.Recurrent.RnnParameters;
import io.thalamus.operations.Recurrent.RnnPass;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Sequence;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.CellFunction;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.Mapped;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Pairs;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Cells of floats with a state: LSTM and RNN, single or over sequences. The share of the inputs of
 * all steps in the sums is one product; that of the outputs of the step before is one for each
 * step.
 */
public final class Recurrence {
  /** Steps of all sequences, each of which is some calls. */
  private static final long MOST_STEPS = 1 << 12;

  /** The input whose rows are steps; another one, for the backward cell, is left to others. */
  static final int INPUT = 0;

  private Recurrence() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RNN,
          OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN,
          OperationCode.BIDIRECTIONAL_SEQUENCE_RNN
        }) {
      table.add(code, Recurrence::isRnnPossible, Recurrence::rnn, TENSOR_FLOAT32);
    }
    Lstm.register(table);
    Svdf.register(table);
  }

  private static boolean isRnnPossible(OperationView operation) {
    if (!areShapesKnown(operation)) {
      return false;
    }
    Optional<RnnParameters> parameters = StaticGraph.parameters(operation, RnnParameters.class);
    if (parameters.isEmpty() || CellFunction.of(parameters.get().activation()).isEmpty()) {
      return false;
    }
    Set<Integer> data = new HashSet<>(Set.of(INPUT));
    for (RnnPass pass : parameters.get().passes()) {
      RnnCell cell = pass.cell();
      data.add(cell.state());
      if (cell.input() != INPUT
          || cell.auxiliaryWeights() >= 0
          || !areFew(parameters.get().sequence(), 2L * cell.units())) {
        return false;
      }
    }
    return operation.hasValuesExcept(data);
  }

  /** Returns true if there are not too many steps, and rows of so many floats. */
  static boolean areFew(Sequence sequence, long floats) {
    long rows = (long) sequence.steps() * sequence.batches();
    return rows > 0
        && rows < MOST_STEPS
        && (rows + sequence.batches()) * floats < Sizes.MOST_FLOATS;
  }

  /** Returns true if scalars and the shapes of all tensors that are there are known. */
  static boolean areShapesKnown(OperationView operation) {
    for (int i = 0; i < operation.inputs().size(); i++) {
      OperandView input = operation.input(i);
      if (operation.has(i)
          && !(input.type().isTensor() ? Sizes.isPossible(input) : input.value().isPresent())) {
        return false;
      }
    }
    return true;
  }

  private static void rnn(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    RnnParameters parameters = operation.parameters(RnnParameters.class);
    CellFunction function = CellFunction.of(parameters.activation()).orElseThrow();
    for (RnnPass pass : parameters.passes()) {
      RnnCell cell = pass.cell();
      int units = cell.units();
      Sequence sequence = parameters.sequence();
      Steps steps = new Steps(program, sequence, pass.route(), units, units);
      steps.begin(operands.input(cell.state()), 0, units);
      steps.multiplyInputs(
          operands.input(cell.input()),
          cell.inputSize(),
          joined(operation, List.of(cell.weights())),
          Optional.of(joined(operation, List.of(cell.bias()))));
      FunctionSource activated = activated(function, units);
      float[] recurrent = joined(operation, List.of(cell.recurrentWeights()));
      steps.run(
          StepProduct.added(program, sequence.batches(), units, recurrent),
          0,
          (sums, _, next) -> {
            for (int b = 0; b < sequence.batches(); b++) {
              program.call(
                  activated,
                  steps.sums.at(sums + (long) b * steps.batchStep()),
                  steps.states.at(next + (long) b * steps.stateStep()));
            }
          });
      steps.write(operands.output(pass.route().output()), 0, units);
      if (!pass.route().stateOutputs().isEmpty()) {
        steps.end(operands.output(pass.route().stateOutputs().get(0)), 0, units);
      }
    }
  }

  /** Returns a function that makes sums outputs of a cell. */
  static FunctionSource activated(CellFunction function, int count) {
    return switch (function) {
      case TANH -> new Mapped(Kind.TANH, count);
      case SIGMOID -> new Mapped(Kind.LOGISTIC, count);
      case NONE, RELU, RELU1, RELU6 ->
          new Pairs(Pair.FIRST, count, false, false, FusedActivation.valueOf(function.name()));
    };
  }

  /** The numbers of some inputs, one after the other. */
  static float[] joined(ResolvedOperation operation, List<Integer> inputs) {
    List<float[]> parts = new ArrayList<>();
    int size = 0;
    for (int input : inputs) {
      parts.add(Source.floats(operation, input));
      size += parts.getLast().length;
    }
    float[] all = new float[size];
    int at = 0;
    for (float[] part : parts) {
      System.arraycopy(part, 0, all, at, part.length);
      at += part.length;
    }
    return all;
  }
}
