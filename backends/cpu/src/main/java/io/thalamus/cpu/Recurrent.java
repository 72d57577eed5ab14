// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Recurrent.RnnCell;
import io.thalamus.operations.Recurrent.RnnParameters;
import io.thalamus.operations.Recurrent.RnnPass;
import io.thalamus.operations.Recurrent.SvdfParameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Sequence;
import io.thalamus.operations.Sequence.Route;
import java.lang.foreign.MemorySegment;

/** Cells with a state of one kind. */
final class Recurrent {
  private Recurrent() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.RNN, Rnn::new)
        .floats(OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN, Rnn::new)
        .floats(OperationCode.BIDIRECTIONAL_SEQUENCE_RNN, Rnn::new)
        .floats(OperationCode.SVDF, Svdf::new);
  }

  /** Scratch memory: input row, auxiliary row, state before, state after. */
  private record Rnn(RnnParameters parameters, FloatRows rows) implements Kernel {
    Rnn(ResolvedOperation operation) {
      this(
          operation.parameters(RnnParameters.class),
          new FloatRows(Elements.of(operation.view().input(0).type())));
    }

    @Override
    public long scratchSize() {
      long most = 0;
      for (RnnPass pass : parameters.passes()) {
        RnnCell cell = pass.cell();
        most = Math.max(most, (long) cell.inputSize() + cell.auxiliarySize() + 2L * cell.units());
      }
      return most * Float.BYTES;
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      Sequence sequence = parameters.sequence();
      for (RnnPass pass : parameters.passes()) {
        RnnCell cell = pass.cell();
        Route route = pass.route();
        long state = (long) cell.inputSize() + cell.auxiliarySize();
        for (int b = 0; b < sequence.batches(); b++) {
          long stateRow = (long) b * cell.units();
          rows.load(work, inputs[cell.state()], stateRow, scratch, state, cell.units());
          for (int t = 0; t < sequence.steps(); t++) {
            long row = sequence.row(route.isBackward() ? sequence.steps() - 1 - t : t, b);
            step(cell, row, inputs, scratch, state, work);
            long target = row * route.depth() + route.offset();
            rows.store(work, scratch, state, outputs[route.output()], target, cell.units());
          }
          for (int output : route.stateOutputs()) {
            rows.store(work, scratch, state, outputs[output], stateRow, cell.units());
          }
        }
      }
    }

    private void step(
        RnnCell cell,
        long row,
        MemorySegment[] inputs,
        MemorySegment scratch,
        long state,
        WorkMeter work) {
      int size = cell.inputSize();
      rows.load(work, inputs[cell.input()], row * size, scratch, 0, size);
      if (cell.auxiliary() >= 0) {
        int auxiliary = cell.auxiliarySize();
        rows.load(work, inputs[cell.auxiliary()], row * auxiliary, scratch, size, auxiliary);
      }
      for (int u = 0; u < cell.units(); u++) {
        float sum = rows.get(inputs[cell.bias()], u);
        sum += rows.dot(work, inputs[cell.weights()], u, scratch, 0, size);
        if (cell.auxiliary() >= 0) {
          MemorySegment weights = inputs[cell.auxiliaryWeights()];
          sum += rows.dot(work, weights, u, scratch, size, cell.auxiliarySize());
        }
        sum += rows.dot(work, inputs[cell.recurrentWeights()], u, scratch, state, cell.units());
        float result = parameters.activation().apply(sum);
        Elements.FLOAT32.setFloat(scratch, state + cell.units() + u, result);
      }
      long bytes = (long) cell.units() * Float.BYTES;
      MemorySegment.copy(scratch, state * Float.BYTES + bytes, scratch, state * Float.BYTES, bytes);
    }
  }

  /**
   * Each filter keeps the products of its feature weights with the last inputs; its output is their
   * sum by its time weights. Scratch memory: input row, memory of a filter, sums of all filters.
   */
  private record Svdf(SvdfParameters parameters, FloatRows rows) implements Kernel {
    Svdf(ResolvedOperation operation) {
      this(
          operation.parameters(SvdfParameters.class),
          new FloatRows(Elements.of(operation.view().input(0).type())));
    }

    @Override
    public long scratchSize() {
      return ((long) parameters.inputSize() + parameters.memory() + parameters.filters())
          * Float.BYTES;
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      Elements floats = Elements.FLOAT32;
      int size = parameters.inputSize();
      int memory = parameters.memory();
      long sums = (long) size + memory;
      for (int b = 0; b < parameters.batches(); b++) {
        rows.load(work, inputs[0], (long) b * size, scratch, 0, size);
        for (int f = 0; f < parameters.filters(); f++) {
          long state = ((long) b * parameters.filters() + f) * memory;
          rows.load(work, inputs[4], state, scratch, size, memory);
          floats.setFloat(scratch, sums - 1, rows.dot(work, inputs[1], f, scratch, 0, size));
          floats.setFloat(scratch, sums + f, rows.dot(work, inputs[2], f, scratch, size, memory));
          // The oldest product leaves; the place of the newest waits for the next input.
          floats.setFloat(scratch, size, 0);
          rows.store(work, scratch, size + 1L, outputs[0], state, memory - 1);
          rows.store(work, scratch, size, outputs[0], state + memory - 1, 1);
        }
        for (int u = 0; u < parameters.units(); u++) {
          float sum = parameters.hasBias() ? rows.get(inputs[3], u) : 0;
          for (int r = 0; r < parameters.rank(); r++) {
            sum += floats.getFloat(scratch, sums + (long) u * parameters.rank() + r);
          }
          floats.setFloat(scratch, 0, parameters.activation().apply(sum));
          rows.store(work, scratch, 0, outputs[1], (long) b * parameters.units() + u, 1);
        }
      }
    }
  }
}
