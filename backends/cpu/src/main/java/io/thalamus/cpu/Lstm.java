// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.CellActivation;
import io.thalamus.operations.Lstm.Cell;
import io.thalamus.operations.Lstm.Gate;
import io.thalamus.operations.Lstm.Parameters;
import io.thalamus.operations.Lstm.Pass;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Sequence;
import io.thalamus.operations.Sequence.Route;
import java.lang.foreign.MemorySegment;

/**
 * Members of the family {@link Recurrent} with a long memory in float; see Hochreiter and
 * Schmidhuber, "Long Short-Term Memory" (1997), and for the optional parts Gers and Schmidhuber
 * (peepholes, 2000), Sak et al. (projection, 2014), Greff et al. (coupled gates, 2015) and Ba et
 * al. (layer normalization, 2016).
 */
record Lstm(Parameters parameters, FloatRows rows) implements Kernel {
  /** The variance that stands for one of 0, as in TensorFlow Lite. */
  private static final double LEAST_VARIANCE = 1e-8;

  private static final Elements FLOATS = Elements.FLOAT32;

  Lstm(ResolvedOperation operation) {
    this(
        operation.parameters(Parameters.class),
        new FloatRows(Elements.of(operation.view().input(0).type())));
  }

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.LSTM, Lstm::new)
        .floats(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, Lstm::new)
        .floats(OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM, Lstm::new);
  }

  /** The places of the rows of a cell in scratch memory, in floats. */
  private record Layout(
      long input,
      long auxiliary,
      long outputState,
      long cellState,
      long inputGate,
      long forgetGate,
      long cellGate,
      long outputGate,
      long size) {
    static Layout of(Cell cell) {
      long auxiliary = cell.inputSize();
      long outputState = auxiliary + cell.auxiliarySize();
      long cellState = outputState + cell.outputs();
      long gates = cellState + cell.cells();
      return new Layout(
          0,
          auxiliary,
          outputState,
          cellState,
          gates,
          gates + cell.cells(),
          gates + 2L * cell.cells(),
          gates + 3L * cell.cells(),
          gates + 4L * cell.cells());
    }
  }

  @Override
  public long scratchSize() {
    long most = 0;
    for (Pass pass : parameters.passes()) {
      most = Math.max(most, Layout.of(pass.cell()).size());
    }
    return most * Float.BYTES;
  }

  @Override
  public void run(
      MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
    if (parameters.hasScratchOutput()) {
      outputs[0].fill((byte) 0);
    }
    Sequence sequence = parameters.sequence();
    for (Pass pass : parameters.passes()) {
      Cell cell = pass.cell();
      Layout at = Layout.of(cell);
      Route route = pass.route();
      for (int b = 0; b < sequence.batches(); b++) {
        long outputRow = (long) b * cell.outputs();
        long cellRow = (long) b * cell.cells();
        rows.load(
            work, inputs[cell.outputState()], outputRow, scratch, at.outputState(), cell.outputs());
        rows.load(work, inputs[cell.cellState()], cellRow, scratch, at.cellState(), cell.cells());
        for (int t = 0; t < sequence.steps(); t++) {
          long row = sequence.row(route.isBackward() ? sequence.steps() - 1 - t : t, b);
          step(cell, at, row, inputs, scratch, work);
          long target = row * route.depth() + route.offset();
          rows.store(
              work, scratch, at.outputState(), outputs[route.output()], target, cell.outputs());
        }
        if (!route.stateOutputs().isEmpty()) {
          MemorySegment outputState = outputs[route.stateOutputs().get(0)];
          MemorySegment cellState = outputs[route.stateOutputs().get(1)];
          rows.store(work, scratch, at.outputState(), outputState, outputRow, cell.outputs());
          rows.store(work, scratch, at.cellState(), cellState, cellRow, cell.cells());
        }
      }
    }
  }

  private void step(
      Cell cell,
      Layout at,
      long row,
      MemorySegment[] inputs,
      MemorySegment scratch,
      WorkMeter work) {
    int size = cell.inputSize();
    rows.load(work, inputs[cell.input()], row * size, scratch, at.input(), size);
    if (cell.auxiliary() >= 0) {
      int auxiliary = cell.auxiliarySize();
      rows.load(
          work, inputs[cell.auxiliary()], row * auxiliary, scratch, at.auxiliary(), auxiliary);
    }
    CellActivation activation = parameters.activation();
    if (cell.inputGate().isPresent()) {
      Gate gate = cell.inputGate().get();
      gate(cell, gate, at, at.inputGate(), CellActivation.SIGMOID, inputs, scratch, work);
    }
    gate(
        cell,
        cell.forgetGate(),
        at,
        at.forgetGate(),
        CellActivation.SIGMOID,
        inputs,
        scratch,
        work);
    gate(cell, cell.cellGate(), at, at.cellGate(), activation, inputs, scratch, work);
    for (int i = 0; i < cell.cells(); i++) {
      float forget = FLOATS.getFloat(scratch, at.forgetGate() + i);
      float admit =
          cell.inputGate().isPresent() ? FLOATS.getFloat(scratch, at.inputGate() + i) : 1 - forget;
      float state =
          forget * FLOATS.getFloat(scratch, at.cellState() + i)
              + admit * FLOATS.getFloat(scratch, at.cellGate() + i);
      FLOATS.setFloat(scratch, at.cellState() + i, clip(state, parameters.cellClip()));
    }
    gate(
        cell,
        cell.outputGate(),
        at,
        at.outputGate(),
        CellActivation.SIGMOID,
        inputs,
        scratch,
        work);
    for (int i = 0; i < cell.cells(); i++) {
      float shown = activation.apply(FLOATS.getFloat(scratch, at.cellState() + i));
      float gate = FLOATS.getFloat(scratch, at.outputGate() + i);
      FLOATS.setFloat(scratch, at.outputGate() + i, gate * shown);
    }
    for (int i = 0; i < cell.outputs(); i++) {
      float output =
          cell.projectionWeights() < 0
              ? FLOATS.getFloat(scratch, at.outputGate() + i)
              : projection(cell, at, i, inputs, scratch, work);
      FLOATS.setFloat(scratch, at.outputState() + i, output);
    }
  }

  /** Computes a gate for all cells; peepholes see the cell state as it is by now. */
  private void gate(
      Cell cell,
      Gate gate,
      Layout at,
      long result,
      CellActivation activation,
      MemorySegment[] inputs,
      MemorySegment scratch,
      WorkMeter work) {
    boolean isNormalized = gate.norm() >= 0;
    for (int i = 0; i < cell.cells(); i++) {
      float sum = isNormalized ? 0 : rows.get(inputs[gate.bias()], i);
      sum += rows.dot(work, inputs[gate.weights()], i, scratch, at.input(), cell.inputSize());
      if (gate.auxiliaryWeights() >= 0) {
        MemorySegment weights = inputs[gate.auxiliaryWeights()];
        sum += rows.dot(work, weights, i, scratch, at.auxiliary(), cell.auxiliarySize());
      }
      MemorySegment recurrent = inputs[gate.recurrentWeights()];
      sum += rows.dot(work, recurrent, i, scratch, at.outputState(), cell.outputs());
      if (gate.peephole() >= 0) {
        sum += rows.get(inputs[gate.peephole()], i) * FLOATS.getFloat(scratch, at.cellState() + i);
      }
      FLOATS.setFloat(scratch, result + i, sum);
    }
    if (isNormalized) {
      normalize(cell, gate, result, inputs, scratch);
    }
    for (int i = 0; i < cell.cells(); i++) {
      FLOATS.setFloat(scratch, result + i, activation.apply(FLOATS.getFloat(scratch, result + i)));
    }
  }

  private void normalize(
      Cell cell, Gate gate, long result, MemorySegment[] inputs, MemorySegment scratch) {
    double mean = 0;
    for (int i = 0; i < cell.cells(); i++) {
      mean += FLOATS.getFloat(scratch, result + i);
    }
    mean /= cell.cells();
    double variance = 0;
    for (int i = 0; i < cell.cells(); i++) {
      double distance = FLOATS.getFloat(scratch, result + i) - mean;
      variance += distance * distance;
    }
    variance /= cell.cells();
    double factor = 1 / Math.sqrt(variance == 0 ? LEAST_VARIANCE : variance);
    for (int i = 0; i < cell.cells(); i++) {
      float normalized = (float) ((FLOATS.getFloat(scratch, result + i) - mean) * factor);
      float weighted = normalized * rows.get(inputs[gate.norm()], i);
      FLOATS.setFloat(scratch, result + i, weighted + rows.get(inputs[gate.bias()], i));
    }
  }

  private float projection(
      Cell cell,
      Layout at,
      int output,
      MemorySegment[] inputs,
      MemorySegment scratch,
      WorkMeter work) {
    float sum = cell.projectionBias() < 0 ? 0 : rows.get(inputs[cell.projectionBias()], output);
    MemorySegment weights = inputs[cell.projectionWeights()];
    sum += rows.dot(work, weights, output, scratch, at.outputGate(), cell.cells());
    return clip(sum, parameters.projectionClip());
  }

  private static float clip(float value, float limit) {
    return limit > 0 ? Math.min(Math.max(value, -limit), limit) : value;
  }
}
