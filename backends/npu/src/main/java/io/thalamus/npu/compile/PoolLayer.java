// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.compile.InputWindows.Cells;
import io.thalamus.npu.machine.Architecture;

/** A pooling on the vector unit: tiles of rows, columns and channels. Padding is not loaded. */
final class PoolLayer implements Layer {
  private static final int HEIGHT = 0;
  private static final int WIDTH = 1;
  private static final int CHANNELS = 2;
  private static final int BUFFERS = 3;

  private final Architecture architecture;
  private final InputWindows input;
  private final Results results;
  private final boolean isMaximum;
  private final int[][] choices;

  PoolLayer(Architecture architecture, InputWindows input, Results results, boolean isMaximum) {
    this.architecture = architecture;
    this.input = input;
    this.results = results;
    this.isMaximum = isMaximum;
    choices =
        new int[][] {
          Axes.parts(results.height()),
          Axes.parts(results.width()),
          Axes.parts(input.channels()),
          Axes.buffers(),
        };
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

    Plan(int[] tiling) {
      tile = Axes.values(choices, tiling);
      int buffers = tile[BUFFERS];
      inputs = scratch.buffers(buffers, input.tileBytes(tile[HEIGHT], tile[WIDTH], tile[CHANNELS]));
      outputs =
          scratch.buffers(
              buffers, (long) tile[HEIGHT] * tile[WIDTH] * tile[CHANNELS] * input.elementSize());
    }
  }

  @Override
  public boolean fits(int[] tiling) {
    return new Plan(tiling).scratch.fits();
  }

  @Override
  public long commands(int[] tiling) {
    int[] tile = Axes.values(choices, tiling);
    return 3L
        * results.batches()
        * Axes.count(results.height(), tile[HEIGHT])
        * Axes.count(results.width(), tile[WIDTH])
        * Axes.count(input.channels(), tile[CHANNELS]);
  }

  @Override
  public void emit(int[] tiling, Emitter to) {
    Plan plan = new Plan(tiling);
    int[] turn = {0};
    for (int first = 0; first < input.channels(); first += plan.tile[CHANNELS]) {
      int firstChannel = first;
      int channels = Math.min(plan.tile[CHANNELS], input.channels() - first);
      results.forEachTile(
          plan.tile[HEIGHT],
          plan.tile[WIDTH],
          pixels -> {
            int buffer = turn[0]++ % plan.inputs.length;
            pool(to, pixels, plan.inputs[buffer], plan.outputs[buffer], firstChannel, channels);
          });
    }
  }

  private void pool(Emitter to, PixelTile pixels, int in, int out, int firstChannel, int channels) {
    Cells cells = input.cells(pixels);
    int pixel = channels * input.elementSize();
    int line = cells.columns() * pixel;
    input.loadCells(to, pixels, cells, in, line, firstChannel, channels);
    Command.Window window =
        new Command.Window(
            input.flags() | (isMaximum ? Command.MAXIMUM : 0),
            in,
            line,
            pixel,
            channels,
            new Size(input.vertical().size(), input.horizontal().size()),
            new Size(1, 1),
            new Size(input.vertical().stride(), input.horizontal().stride()),
            new Size(pixels.height(), pixels.width()));
    to.add(
        new Pool(
            window,
            new Size(cells.rows(), cells.columns()),
            cells.firstRow() - cells.top(),
            cells.firstColumn() - cells.left(),
            out,
            results.min(),
            results.max()));
    results.store(to, out, pixels, firstChannel, channels);
  }
}
