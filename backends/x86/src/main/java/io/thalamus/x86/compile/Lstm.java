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
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Sequence.Route;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.CellFunction;
import io.thalamus.x86.kernel.LstmCells;
import io.thalamus.x86.kernel.LstmCells.Part;
import io.thalamus.x86.kernel.NormalizedRows;
import io.thalamus.x86.kernel.PaddedRows;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Pairs;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * A cell of floats with a long memory. What peepholes see and what normalization divides by are
 * functions of their own between the products and the cells, where there are any; so is a
 * projection behind them. Used once.
 */
final class Lstm {
  /** Added to a variance: where it is 0, so are all distances from the mean. */
  private static final float LEAST_VARIANCE = Float.MIN_NORMAL;

  private final ResolvedOperation operation;
  private final Lowering.Operands operands;
  private final ProgramBuilder program;
  private final Parameters parameters;
  private final Cell cell;
  private final Route route;
  private final Steps steps;
  private final int batches;
  private final int gateBytes;

  /** The gates in the order of their sums; the last one waits for the new states. */
  private final List<Gate> gates;

  /** By gate, what it sees of the states; empty where it has no peephole. */
  private final List<Optional<StepProduct>> peepholes;

  private final Optional<Norms> norms;
  private final Optional<Projection> projection;

  /** The factors and the biases behind a normalization, one gate after the other. */
  private record Norms(Place factors, Place biases) {}

  /**
   * What makes a cell's outputs its results.
   *
   * @param outputs of the cells, by batch
   */
  private record Projection(StepProduct product, Place outputs) {}

  private Lstm(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program, Pass pass) {
    this.operation = operation;
    this.operands = operands;
    this.program = program;
    parameters = operation.parameters(Parameters.class);
    cell = pass.cell();
    route = pass.route();
    gates = gates(cell);
    batches = parameters.sequence().batches();
    gateBytes = cell.cells() * Float.BYTES;
    int width = gates.size() * cell.cells();
    steps = new Steps(program, parameters.sequence(), route, width, cell.cells() + cell.outputs());
    peepholes =
        gates.stream()
            .map(gate -> numbers(gate.peephole()))
            .map(weights -> weights.map(them -> StepProduct.ofEach(program, batches, them)))
            .toList();
    norms =
        gates.getFirst().norm() < 0
            ? Optional.empty()
            : Optional.of(new Norms(place(joined(Gate::norm)), place(joined(Gate::bias))));
    projection = numbers(cell.projectionWeights()).map(this::projection);
  }

  private Projection projection(float[] weights) {
    Optional<float[]> bias = numbers(cell.projectionBias());
    return new Projection(
        StepProduct.written(program, batches, cell.cells(), weights, bias),
        program.place((long) batches * gateBytes));
  }

  private void emit() {
    steps.begin(operands.input(cell.cellState()), 0, cell.cells());
    steps.begin(operands.input(cell.outputState()), cell.cells(), cell.outputs());
    steps.multiplyInputs(
        operands.input(cell.input()),
        cell.inputSize(),
        joined(Gate::weights),
        norms.isPresent() ? Optional.empty() : Optional.of(joined(Gate::bias)));
    StepProduct recurrent =
        StepProduct.added(program, batches, cell.outputs(), joined(Gate::recurrentWeights));
    boolean isPlain =
        norms.isEmpty() && projection.isEmpty() && peepholes.stream().allMatch(Optional::isEmpty);
    steps.run(recurrent, cell.cells(), isPlain ? this::plainStep : this::step);
    steps.write(operands.output(route.output()), cell.cells(), cell.outputs());
    if (!route.stateOutputs().isEmpty()) {
      steps.end(operands.output(route.stateOutputs().get(0)), cell.cells(), cell.outputs());
      steps.end(operands.output(route.stateOutputs().get(1)), 0, cell.cells());
    }
  }

  /** Adds the operations to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.LSTM,
          OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
          OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM
        }) {
      table.add(code, Lstm::isPossible, Lstm::lower, TENSOR_FLOAT32);
    }
  }

  private static boolean isPossible(OperationView operation) {
    if (!Recurrence.areShapesKnown(operation)) {
      return false;
    }
    Optional<Parameters> parameters = StaticGraph.parameters(operation, Parameters.class);
    if (parameters.isEmpty() || CellFunction.of(parameters.get().activation()).isEmpty()) {
      return false;
    }
    Set<Integer> data = new HashSet<>(Set.of(Recurrence.INPUT));
    for (Pass pass : parameters.get().passes()) {
      Cell cell = pass.cell();
      data.addAll(List.of(cell.outputState(), cell.cellState()));
      long floats = Math.max(4L * cell.cells(), (long) cell.cells() + cell.outputs());
      if (cell.input() != Recurrence.INPUT
          || cell.auxiliary() >= 0
          || !Recurrence.areFew(parameters.get().sequence(), floats)) {
        return false;
      }
    }
    return operation.hasValuesExcept(data);
  }

  private static List<Gate> gates(Cell cell) {
    List<Gate> gates = new ArrayList<>();
    cell.inputGate().ifPresent(gates::add);
    gates.addAll(List.of(cell.forgetGate(), cell.cellGate(), cell.outputGate()));
    return gates;
  }

  private static void lower(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    if (parameters.hasScratchOutput()) {
      Place scratch = operands.output(0);
      PaddedRows zeros = new PaddedRows(Math.toIntExact(scratch.bytes()), 0, 0);
      program.call(zeros, program.zero().at(0), scratch.at(0));
    }
    for (Pass pass : parameters.passes()) {
      new Lstm(operation, operands, program, pass).emit();
    }
  }

  /** Returns the numbers of an input, empty where there is none. */
  private Optional<float[]> numbers(int input) {
    return input < 0 ? Optional.empty() : Optional.of(Recurrence.joined(operation, List.of(input)));
  }

  private float[] joined(Function<Gate, Integer> input) {
    return Recurrence.joined(operation, gates.stream().map(input).toList());
  }

  private Place place(float... numbers) {
    return Source.of(numbers, program).place().get();
  }

  private LstmCells cells(Part part, int resultStep) {
    return new LstmCells(
        part,
        cell.cells(),
        cell.inputGate().isEmpty(),
        CellFunction.of(parameters.activation()).orElseThrow(),
        parameters.cellClip(),
        steps.batchStep(),
        steps.stateStep(),
        resultStep);
  }

  private void plainStep(long sums, long old, long next) {
    program.call(
        cells(Part.WHOLE, steps.stateStep()),
        batches,
        steps.sums.at(sums),
        steps.states.at(next),
        steps.states.at(old));
  }

  /** The last gate sees the states that the others have made. */
  private void step(long sums, long old, long next) {
    int last = gates.size() - 1;
    for (int gate = 0; gate < last; gate++) {
      see(gate, old, sums);
    }
    normalize(0, last, sums);
    program.call(
        cells(Part.STATES, steps.stateStep()),
        batches,
        steps.sums.at(sums),
        steps.states.at(next),
        steps.states.at(old));
    see(last, next, sums);
    normalize(last, 1, sums);
    long at = sums + (long) last * gateBytes;
    if (projection.isEmpty()) {
      output(at, next, steps.states, next + gateBytes, steps.stateStep());
    } else {
      Projection projected = projection.get();
      output(at, next, projected.outputs(), 0, gateBytes);
      projected
          .product()
          .call(
              projected.outputs(), 0, gateBytes, steps.states, next + gateBytes, steps.stateStep());
      clip(next + gateBytes);
    }
  }

  private void output(long gate, long states, Place to, long target, int targetStep) {
    program.call(
        cells(Part.OUTPUTS, targetStep),
        batches,
        steps.sums.at(gate),
        to.at(target),
        steps.states.at(states));
  }

  private void see(int gate, long states, long sums) {
    if (peepholes.get(gate).isPresent()) {
      program.barrier();
      peepholes
          .get(gate)
          .get()
          .call(
              steps.states,
              states,
              steps.stateStep(),
              steps.sums,
              sums + (long) gate * gateBytes,
              steps.batchStep());
    }
  }

  /** Brings the sums of some gates that follow each other to a common size, where they stand. */
  private void normalize(int first, int count, long sums) {
    for (int b = 0; norms.isPresent() && b < batches; b++) {
      long skipped = (long) first * gateBytes;
      long at = sums + skipped + (long) b * steps.batchStep();
      Place all = steps.sums;
      program.barrier();
      program.call(
          new NormalizedRows(true, cell.cells(), LEAST_VARIANCE), count, all.at(at), all.at(at));
      int floats = count * cell.cells();
      Pairs factors = new Pairs(Pair.MUL, floats, false, false, FusedActivation.NONE);
      program.call(factors, all.at(at), all.at(at), norms.get().factors().at(skipped));
      Pairs biases = new Pairs(Pair.ADD, floats, false, false, FusedActivation.NONE);
      program.call(biases, all.at(at), all.at(at), norms.get().biases().at(skipped));
    }
  }

  private void clip(long outputs) {
    float limit = parameters.projectionClip();
    for (int b = 0; limit > 0 && b < batches; b++) {
      long at = outputs + (long) b * steps.stateStep();
      bound(Pair.MAXIMUM, -limit, at);
      bound(Pair.MINIMUM, limit, at);
    }
  }

  private void bound(Pair pair, float limit, long at) {
    Place bound = program.once(List.of(pair, limit), () -> place(limit));
    Pairs pairs = new Pairs(pair, cell.outputs(), false, true, FusedActivation.NONE);
    program.call(pairs, steps.states.at(at), steps.states.at(at), bound.at(0));
  }
}
