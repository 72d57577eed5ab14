// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.machine.Architecture;

/** Scores to probabilities on the vector unit: tiles of whole rows. */
record SoftmaxLayer(Tensor from, Tensor to, int depth, Constant exponentials, int flags, int zero)
    implements Layer<SoftmaxLayer.Plan> {
  private static final int ROWS = 0;
  private static final int BUFFERS = 1;

  private int rows() {
    return (int) (from.shape().elementCount() / depth);
  }

  /** The addresses of the buffers. */
  record Plan(int table, int[] inputs, int[] outputs) {}

  @Override
  public int[][] choices(Architecture architecture) {
    return new int[][] {Axes.parts(rows()), Axes.buffers()};
  }

  @Override
  public Plan plan(int[] tile, Scratch scratch) {
    long size = (long) tile[ROWS] * depth;
    return new Plan(
        scratch.bytes(exponentials.size()),
        scratch.buffers(tile[BUFFERS], size),
        scratch.buffers(tile[BUFFERS], size));
  }

  @Override
  public long commands(int[] tile) {
    return 3L * Axes.count(rows(), tile[ROWS]);
  }

  @Override
  public void emit(Plan plan, int[] tile, Emitter emitter) {
    emitter.add(
        new Load(
            Command.WEIGHTS,
            emitter.address(exponentials),
            plan.table(),
            Block.of(exponentials.size()),
            0,
            0));
    int turn = 0;
    for (int row = 0; row < rows(); row += tile[ROWS]) {
      int tileRows = Math.min(tile[ROWS], rows() - row);
      int buffer = turn++ % plan.inputs().length;
      Block block = Block.of(tileRows * depth);
      from.load(emitter, row * depth, plan.inputs()[buffer], block, 0, 0);
      emitter.add(
          new Softmax(
              flags,
              plan.inputs()[buffer],
              plan.outputs()[buffer],
              tileRows,
              depth,
              plan.table(),
              zero));
      to.store(emitter, plan.outputs()[buffer], row * depth, block, 0, 0);
    }
  }
}
