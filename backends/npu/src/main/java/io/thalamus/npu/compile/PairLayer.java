// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.machine.Architecture;

/**
 * A sum or a product of two tensors on the vector unit: tiles of rows and columns.
 *
 * @param pattern the command, but for places and sizes
 */
record PairLayer(Side a, Side b, Tensor output, int rows, int run, Elementwise pattern)
    implements Layer<PairLayer.Plan> {
  private static final int ROWS = 0;
  private static final int RUN = 1;
  private static final int BUFFERS = 2;

  /**
   * One of the two tensors.
   *
   * @param tensor that is read
   * @param row elements to the next row: none where all rows are the same
   * @param step elements to the next column: 1, or none where all columns are the same
   */
  record Side(Tensor tensor, int row, int step) {
    /** Elements of a tile. */
    long count(int tileRows, int tileRun) {
      return (row == 0 ? 1L : tileRows) * (step == 0 ? 1 : tileRun);
    }

    /** Loads a tile, densely. */
    void load(Emitter to, int address, int firstRow, int first, int tileRows, int tileRun) {
      int size = tensor.elementSize();
      int rows = row == 0 ? 1 : tileRows;
      int run = step == 0 ? 1 : tileRun;
      int from = (firstRow * row + first * step) * size;
      Block block =
          rows == 1 || run == row
              ? Block.of(rows * run * size)
              : new Block(run * size, rows, row * size, 1, 0);
      tensor.load(to, from, address, block, run * size, 0);
    }

    /** The bytes from one row of a tile to the next. */
    int tileRow(int tileRun) {
      return row == 0 ? 0 : (step == 0 ? 1 : tileRun) * tensor.elementSize();
    }

    /** The bytes from one column to the next. */
    int tileStep() {
      return step * tensor.elementSize();
    }
  }

  /** The addresses of the buffers. */
  record Plan(int[] first, int[] second, int[] outputs) {}

  @Override
  public int[][] choices(Architecture architecture) {
    return new int[][] {Axes.parts(rows), Axes.parts(run), Axes.buffers()};
  }

  @Override
  public Plan plan(int[] tile, Scratch scratch) {
    int size = output.elementSize();
    return new Plan(
        scratch.buffers(tile[BUFFERS], a.count(tile[ROWS], tile[RUN]) * size),
        scratch.buffers(tile[BUFFERS], b.count(tile[ROWS], tile[RUN]) * size),
        scratch.buffers(tile[BUFFERS], (long) tile[ROWS] * tile[RUN] * size));
  }

  @Override
  public long commands(int[] tile) {
    return 4L * Axes.count(rows, tile[ROWS]) * Axes.count(run, tile[RUN]);
  }

  @Override
  public void emit(Plan plan, int[] tile, Emitter to) {
    int turn = 0;
    for (int first = 0; first < run; first += tile[RUN]) {
      int tileRun = Math.min(tile[RUN], run - first);
      for (int row = 0; row < rows; row += tile[ROWS]) {
        int tileRows = Math.min(tile[ROWS], rows - row);
        int buffer = turn++ % plan.outputs().length;
        a.load(to, plan.first()[buffer], row, first, tileRows, tileRun);
        b.load(to, plan.second()[buffer], row, first, tileRows, tileRun);
        to.add(
            command(
                plan.first()[buffer],
                plan.second()[buffer],
                plan.outputs()[buffer],
                tileRows,
                tileRun));
        store(to, plan.outputs()[buffer], row, first, tileRows, tileRun);
      }
    }
  }

  private Command command(int first, int second, int out, int tileRows, int tileRun) {
    return new Elementwise(
        pattern.flags(),
        first,
        second,
        out,
        tileRows,
        tileRun,
        a.tileRow(tileRun),
        a.tileStep(),
        b.tileRow(tileRun),
        b.tileStep(),
        pattern.aZero(),
        pattern.bZero(),
        pattern.leftShift(),
        pattern.aFactor(),
        pattern.bFactor(),
        pattern.factor(),
        pattern.zero(),
        pattern.min(),
        pattern.max());
  }

  private void store(Emitter to, int address, int row, int first, int tileRows, int tileRun) {
    int size = output.elementSize();
    int at = (row * run + first) * size;
    if (tileRun == run || tileRows == 1) {
      output.store(to, address, at, Block.of(tileRows * tileRun * size), 0, 0);
    } else {
      int bytes = tileRun * size;
      output.store(to, address, at, new Block(bytes, tileRows, bytes, 1, 0), run * size, 0);
    }
  }
}
