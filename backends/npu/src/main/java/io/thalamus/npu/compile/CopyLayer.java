// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.Lookup;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.machine.Footprint;

/**
 * A tensor, seen as rows, copied to rows of another; on the way each byte may be replaced by that
 * of a table.
 */
final class CopyLayer implements Layer {
  private static final int ROWS = 0;
  private static final int RUN = 1;
  private static final int BUFFERS = 2;

  private final Architecture architecture;
  private final Tensor from;
  private final int fromOffset;
  private final Tensor to;
  private final int offset;
  private final int rows;
  private final int run;
  private final int toRow;
  private final Constant table;
  private final int[][] choices;

  /**
   * A copy.
   *
   * @param fromOffset bytes into the tensor that is read
   * @param offset bytes into the tensor that is written
   * @param rows that are copied
   * @param run bytes of a row
   * @param toRow bytes from one row to the next where they are written
   * @param table 256 bytes, or null
   */
  CopyLayer(
      Architecture architecture,
      Tensor from,
      int fromOffset,
      Tensor to,
      int offset,
      int rows,
      int run,
      int toRow,
      Constant table) {
    this.architecture = architecture;
    this.from = from;
    this.fromOffset = fromOffset;
    this.to = to;
    this.offset = offset;
    this.rows = rows;
    this.run = run;
    this.toRow = toRow;
    this.table = table;
    choices = new int[][] {Axes.parts(rows), Axes.parts(run), Axes.buffers()};
  }

  /** All of a tensor through a table. */
  static CopyLayer through(Architecture architecture, Tensor from, Tensor to, Constant table) {
    return new CopyLayer(architecture, from, 0, to, 0, 1, to.bytes(), to.bytes(), table);
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
      long size = (long) tile[ROWS] * tile[RUN];
      table = scratch.bytes(Footprint.TABLE);
      inputs = scratch.buffers(tile[BUFFERS], size);
      outputs = CopyLayer.this.table == null ? inputs : scratch.buffers(tile[BUFFERS], size);
    }
  }

  @Override
  public boolean fits(int[] tiling) {
    return new Plan(tiling).scratch.fits();
  }

  @Override
  public long commands(int[] tiling) {
    int[] tile = Axes.values(choices, tiling);
    return 3L * Axes.count(rows, tile[ROWS]) * Axes.count(run, tile[RUN]);
  }

  @Override
  public void emit(int[] tiling, Emitter emitter) {
    Plan plan = new Plan(tiling);
    if (table != null) {
      emitter.add(
          new Load(
              Command.WEIGHTS,
              emitter.address(table),
              plan.table,
              Block.of(Footprint.TABLE),
              0,
              0));
    }
    int turn = 0;
    for (int row = 0; row < rows; row += plan.tile[ROWS]) {
      for (int first = 0; first < run; first += plan.tile[RUN]) {
        int tileRows = Math.min(plan.tile[ROWS], rows - row);
        int tileRun = Math.min(plan.tile[RUN], run - first);
        int buffer = turn++ % plan.inputs.length;
        int in = plan.inputs[buffer];
        int out = plan.outputs[buffer];
        Block dense = Block.of(tileRows * tileRun);
        Block cut = new Block(tileRun, tileRows, run, 1, 0);
        from.load(
            emitter, fromOffset + row * run + first, in, tileRun == run ? dense : cut, tileRun, 0);
        if (table != null) {
          emitter.add(new Lookup(in, out, tileRows * tileRun, plan.table));
        }
        int at = offset + row * toRow + first;
        to.store(
            emitter,
            out,
            at,
            tileRun == toRow ? dense : new Block(tileRun, tileRows, tileRun, 1, 0),
            toRow,
            0);
      }
    }
  }
}
