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
 *
 * @param fromOffset bytes into the tensor that is read
 * @param offset bytes into the tensor that is written
 * @param rows that are copied
 * @param run bytes of a row
 * @param toRow bytes from one row to the next where they are written
 * @param table 256 bytes, or null
 */
record CopyLayer(
    Tensor from,
    int fromOffset,
    Tensor to,
    int offset,
    int rows,
    int run,
    int toRow,
    Constant table)
    implements Layer<CopyLayer.Plan> {
  private static final int ROWS = 0;
  private static final int RUN = 1;
  private static final int BUFFERS = 2;

  /** All of a tensor through a table. */
  static CopyLayer through(Tensor from, Tensor to, Constant table) {
    return new CopyLayer(from, 0, to, 0, 1, to.bytes(), to.bytes(), table);
  }

  /** The addresses of the buffers. */
  record Plan(int table, int[] inputs, int[] outputs) {}

  @Override
  public int[][] choices(Architecture architecture) {
    return new int[][] {Axes.parts(rows), Axes.parts(run), Axes.buffers()};
  }

  @Override
  public Plan plan(int[] tile, Scratch scratch) {
    long size = (long) tile[ROWS] * tile[RUN];
    int place = scratch.bytes(Footprint.TABLE);
    int[] inputs = scratch.buffers(tile[BUFFERS], size);
    return new Plan(place, inputs, table == null ? inputs : scratch.buffers(tile[BUFFERS], size));
  }

  @Override
  public long commands(int[] tile) {
    return 3L * Axes.count(rows, tile[ROWS]) * Axes.count(run, tile[RUN]);
  }

  @Override
  public void emit(Plan plan, int[] tile, Emitter emitter) {
    if (table != null) {
      emitter.add(
          new Load(
              Command.WEIGHTS,
              emitter.address(table),
              plan.table(),
              Block.of(Footprint.TABLE),
              0,
              0));
    }
    int turn = 0;
    for (int row = 0; row < rows; row += tile[ROWS]) {
      for (int first = 0; first < run; first += tile[RUN]) {
        int tileRows = Math.min(tile[ROWS], rows - row);
        int tileRun = Math.min(tile[RUN], run - first);
        int buffer = turn++ % plan.inputs().length;
        int in = plan.inputs()[buffer];
        int out = plan.outputs()[buffer];
        Block dense = Block.of(tileRows * tileRun);
        Block cut = new Block(tileRun, tileRows, run, 1, 0);
        from.load(
            emitter, fromOffset + row * run + first, in, tileRun == run ? dense : cut, tileRun, 0);
        if (table != null) {
          emitter.add(new Lookup(in, out, tileRows * tileRun, plan.table()));
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
