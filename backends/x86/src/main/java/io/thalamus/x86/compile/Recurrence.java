// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.Lstm.Cell;
import io.thalamus.operations.Lstm.Gate;
import io.thalamus.operations.Lstm.Parameters;
import io.thalamus.operations.Lstm.Pass;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Recurrent.RnnCell;
import io.thalamus.operations.Recurrent.RnnParameters;
import io.thalamus.operations.Recurrent.RnnPass;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Sequence;
import io.thalamus.operations.Sequence.Route;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.CellFunction;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.LstmCells;
import io.thalamus.x86.kernel.Mapped;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.PaddedRows;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Pairs;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.Taps;
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
  private static final int INPUT = 0;

  private Recurrence() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.LSTM,
          OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
          OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM
        }) {
      table.add(code, Recurrence::isLstmPossible, Recurrence::lstm, TENSOR_FLOAT32);
    }
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RNN,
          OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN,
          OperationCode.BIDIRECTIONAL_SEQUENCE_RNN
        }) {
      table.add(code, Recurrence::isRnnPossible, Recurrence::rnn, TENSOR_FLOAT32);
    }
    Svdf.register(table);
  }

  private static boolean isLstmPossible(OperationView operation) {
    if (!areShapesKnown(operation)) {
      return false;
    }
    Optional<Parameters> parameters = StaticGraph.parameters(operation, Parameters.class);
    if (parameters.isEmpty() || CellFunction.of(parameters.get().activation()).isEmpty()) {
      return false;
    }
    Set<Integer> data = new HashSet<>(Set.of(INPUT));
    for (Pass pass : parameters.get().passes()) {
      Cell cell = pass.cell();
      data.addAll(List.of(cell.outputState(), cell.cellState()));
      if (cell.input() != INPUT
          || cell.projectionWeights() >= 0
          || !gates(cell).stream().allMatch(Recurrence::isPlain)
          || !areFew(parameters.get().sequence(), 4L * cell.cells())) {
        return false;
      }
    }
    return areConstants(operation, data);
  }

  private static boolean isPlain(Gate gate) {
    return gate.auxiliaryWeights() < 0 && gate.peephole() < 0 && gate.norm() < 0;
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
    return areConstants(operation, data);
  }

  private static boolean areFew(Sequence sequence, long floats) {
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

  /** Returns true if all but some inputs are constants, or not there. */
  private static boolean areConstants(OperationView operation, Set<Integer> data) {
    for (int i = 0; i < operation.inputs().size(); i++) {
      if (operation.has(i) && !data.contains(i) && operation.input(i).value().isEmpty()) {
        return false;
      }
    }
    return true;
  }

  private static List<Gate> gates(Cell cell) {
    List<Gate> gates = new ArrayList<>();
    cell.inputGate().ifPresent(gates::add);
    gates.addAll(List.of(cell.forgetGate(), cell.cellGate(), cell.outputGate()));
    return gates;
  }

  private static void lstm(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    if (parameters.hasScratchOutput()) {
      Place scratch = operands.output(0);
      PaddedRows zeros = new PaddedRows(Math.toIntExact(scratch.bytes()), 0, 0);
      program.call(zeros, program.zero(), 0, scratch, 0, 1);
    }
    for (Pass pass : parameters.passes()) {
      Cell cell = pass.cell();
      List<Gate> gates = gates(cell);
      Steps steps =
          new Steps(
              program,
              parameters.sequence(),
              pass.route(),
              cell.cells(),
              gates.size() * cell.cells(),
              2 * cell.cells());
      steps.begin(operands.input(cell.cellState()), 0);
      steps.begin(operands.input(cell.outputState()), cell.cells());
      steps.multiplyInputs(
          operands.input(cell.input()),
          cell.inputSize(),
          joined(operation, gates.stream().map(Gate::weights).toList()),
          joined(operation, gates.stream().map(Gate::bias).toList()));
      LstmCells cells =
          new LstmCells(
              cell.cells(),
              cell.inputGate().isEmpty(),
              CellFunction.of(parameters.activation()).orElseThrow(),
              parameters.cellClip(),
              steps.batchStep());
      steps.run(
          joined(operation, gates.stream().map(Gate::recurrentWeights).toList()),
          cell.cells(),
          (sums, old, next) ->
              program.call(
                  cells,
                  steps.sums,
                  sums,
                  steps.states,
                  next,
                  steps.states,
                  old,
                  parameters.sequence().batches()));
      steps.write(operands.output(pass.route().output()), cell.cells());
      if (!pass.route().stateOutputs().isEmpty()) {
        steps.end(operands.output(pass.route().stateOutputs().get(0)), cell.cells());
        steps.end(operands.output(pass.route().stateOutputs().get(1)), 0);
      }
    }
  }

  private static void rnn(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    RnnParameters parameters = operation.parameters(RnnParameters.class);
    CellFunction function = CellFunction.of(parameters.activation()).orElseThrow();
    for (RnnPass pass : parameters.passes()) {
      RnnCell cell = pass.cell();
      int units = cell.units();
      Steps steps = new Steps(program, parameters.sequence(), pass.route(), units, units, units);
      steps.begin(operands.input(cell.state()), 0);
      steps.multiplyInputs(
          operands.input(cell.input()),
          cell.inputSize(),
          joined(operation, List.of(cell.weights())),
          joined(operation, List.of(cell.bias())));
      FunctionSource activated = activated(function, units);
      steps.run(
          joined(operation, List.of(cell.recurrentWeights())),
          0,
          (sums, _, next) -> {
            for (int b = 0; b < parameters.sequence().batches(); b++) {
              program.call(
                  activated,
                  steps.sums,
                  sums + (long) b * steps.batchStep(),
                  steps.states,
                  next + (long) b * units * Float.BYTES,
                  1);
            }
          });
      steps.write(operands.output(pass.route().output()), 0);
      if (!pass.route().stateOutputs().isEmpty()) {
        steps.end(operands.output(pass.route().stateOutputs().get(0)), 0);
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
  private static float[] joined(ResolvedOperation operation, List<Integer> inputs) {
    List<float[]> parts = new ArrayList<>();
    int size = 0;
    for (int input : inputs) {
      parts.add(Source.of(operation, null, input).floats());
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

  /** Makes the new states of a step, all places being bytes of sums and states. */
  @FunctionalInterface
  private interface Step {
    void call(long sums, long old, long next);
  }

  /** The steps of one cell in one direction. */
  private static final class Steps {
    private final ProgramBuilder program;
    private final Sequence sequence;
    private final Route route;
    private final int outputs;
    private final int width;
    private final int depth;

    /** The sums of the gates, by rows of the input. */
    private final Place sums;

    /** By step, and one more, and batch; the first are those that the cell is given. */
    private final Place states;

    /**
     * The steps.
     *
     * @param outputs floats of a cell's output
     * @param width floats of a row of sums
     * @param depth floats of a row of states
     */
    Steps(
        ProgramBuilder program, Sequence sequence, Route route, int outputs, int width, int depth) {
      this.program = program;
      this.sequence = sequence;
      this.route = route;
      this.outputs = outputs;
      this.width = width;
      this.depth = depth;
      long rows = (long) sequence.steps() * sequence.batches();
      sums = program.place(rows * width * Float.BYTES);
      states = program.place((rows + sequence.batches()) * depth * Float.BYTES);
    }

    /** Returns the bytes from the sums of one batch to those of the next. */
    int batchStep() {
      return (sequence.isTimeMajor() ? 1 : sequence.steps()) * width * Float.BYTES;
    }

    private long stateRow(int step) {
      return (long) step * sequence.batches() * depth * Float.BYTES;
    }

    private void copy(
        Place from, long at, int step, Place to, long target, int targetStep, int rows) {
      Strided copy =
          new Strided(
              Float.BYTES,
              outputs,
              Float.BYTES,
              Float.BYTES,
              step * Float.BYTES,
              targetStep * Float.BYTES);
      program.call(copy, from, at, to, target, rows);
    }

    /** Copies a given state to a place in the rows of states. */
    void begin(Place from, int place) {
      long first = stateRow(route.isBackward() ? sequence.steps() : 0);
      copy(from, 0, outputs, states, first + (long) place * Float.BYTES, depth, sequence.batches());
    }

    /** Copies a state after the last step. */
    void end(Place to, int place) {
      long last = stateRow(route.isBackward() ? 0 : sequence.steps());
      copy(states, last + (long) place * Float.BYTES, depth, to, 0, outputs, sequence.batches());
    }

    void multiplyInputs(Place input, int inputSize, float[] weights, float[] bias) {
      Convolution.product(
          sequence.steps() * sequence.batches(),
          inputSize,
          width,
          new Weights(
              Source.of(weights, program), Optional.of(Source.of(bias, program)), 0, 1, inputSize),
          input,
          sums,
          program);
    }

    /**
     * Walks over the steps.
     *
     * @param place where the cell's outputs begin in a row of states
     */
    void run(float[] weights, int place, Step step) {
      Weights.Packer packer =
          new Weights(Source.of(weights, program), Optional.empty(), 0, 1, outputs)
          .new Packer(program, outputs);
      int most = Convolution.FEW_ROWS_VECTORS * program.emitter().lanes();
      List<Panel> panels = new ArrayList<>();
      for (int channel = 0; channel < width; channel += most) {
        panels.add(packer.pack(channel, Math.min(most, width - channel)));
      }
      for (int i = 0; i < sequence.steps(); i++) {
        int time = route.isBackward() ? sequence.steps() - 1 - i : i;
        long old = stateRow(route.isBackward() ? time + 1 : time);
        long next = stateRow(route.isBackward() ? time : time + 1);
        long at = (long) sequence.row(time, 0) * width * Float.BYTES;
        program.barrier();
        for (Panel panel : panels) {
          addProducts(panel, old + (long) place * Float.BYTES, at);
        }
        step.call(at, old, next);
      }
    }

    private void addProducts(Panel panel, long from, long to) {
      int most = Taps.mostRows(program.emitter(), panel.vectors());
      int batches = sequence.batches();
      for (int b = 0; b < batches; b += most) {
        Taps taps =
            new Taps(
                true,
                true,
                false,
                Math.min(most, batches - b),
                panel.vectors(),
                panel.channels(),
                1,
                0,
                1,
                0,
                outputs,
                depth * Float.BYTES,
                batchStep(),
                FusedActivation.NONE,
                Optional.empty());
        program.call(
            taps,
            states,
            from + (long) b * depth * Float.BYTES,
            sums,
            to + (long) b * batchStep() + (long) panel.channel() * Float.BYTES,
            panel.at(),
            1);
      }
    }

    /** Writes the outputs of all steps, which begin somewhere in the rows of states. */
    void write(Place to, int place) {
      int steps = sequence.steps();
      int batches = sequence.batches();
      long from = stateRow(route.isBackward() ? 0 : 1) + (long) place * Float.BYTES;
      long at = (long) route.offset() * Float.BYTES;
      if (sequence.isTimeMajor() || batches == 1) {
        copy(states, from, depth, to, at, route.depth(), steps * batches);
        return;
      }
      for (int b = 0; b < batches; b++) {
        copy(
            states,
            from + (long) b * depth * Float.BYTES,
            batches * depth,
            to,
            at + (long) b * steps * route.depth() * Float.BYTES,
            route.depth(),
            steps);
      }
    }
  }
}
