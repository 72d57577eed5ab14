// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.machine.Architecture;

/** Scores to probabilities on the vector unit: tiles of whole rows. */
final class SoftmaxLayer implements Layer {
  private static final int ROWS = 0;
  private static final int BUFFERS = 1;

  private final Architecture architecture;
  private final Tensor from;
  private final Tensor to;
  private final int rows;
  private final int depth;
  private final Constant exponentials;
  private final int flags;
  private final int zero;
  private final int[][] choices;

  SoftmaxLayer(
      Architecture architecture,
      Tensor from,
      Tensor to,
      int depth,
      Constant exponentials,
      int flags,
      int zero) {
    this.architecture = architecture;
    this.from = from;
    this.to = to;
    this.rows = (int) (from.shape().elementCount() / depth);
    this.depth = depth;
    this.exponentials = exponentials;
    this.flags = flags;
    this.zero = zero;
    choices = new int[][] {Axes.parts(rows), Axes.buffers()};
  }

  @Override
  public int[][] choices() {
    return choices;
  }

  /** The buffers of a tiling. */
  private final class Plan {
    final int[] tile;
    final Scratch scratch = new Scratch(architecture);
    final int[] inputs;
    final int[] outputs;
    final int table;

    Plan(int[] tiling) {
      tile = Axes.values(choices, tiling);
      table = scratch.bytes(exponentials.size());
      inputs = scratch.buffers(tile[BUFFERS], (long) tile[ROWS] * depth);
      outputs = scratch.buffers(tile[BUFFERS], (long) tile[ROWS] * depth);
    }
  }

  @Override
  public boolean fits(int[] tiling) {
    return new Plan(tiling).scratch.fits();
  }

  @Override
  public long commands(int[] tiling) {
    return 3L * Axes.count(rows, Axes.values(choices, tiling)[ROWS]);
  }

  @Override
  public void emit(int[] tiling, Emitter emitter) {
    Plan plan = new Plan(tiling);
    emitter.add(
        new Load(
            Command.WEIGHTS,
            emitter.address(exponentials),
            plan.table,
            Block.of(exponentials.size()),
            0,
            0));
    int turn = 0;
    for (int row = 0; row < rows; row += plan.tile[ROWS]) {
      int tileRows = Math.min(plan.tile[ROWS], rows - row);
      int buffer = turn++ % plan.inputs.length;
      Block block = Block.of(tileRows * depth);
      from.load(emitter, row * depth, plan.inputs[buffer], block, 0, 0);
      emitter.add(
          new Softmax(
              flags, plan.inputs[buffer], plan.outputs[buffer], tileRows, depth, plan.table, zero));
      to.store(emitter, plan.outputs[buffer], row * depth, block, 0, 0);
    }
  }
}
