// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.compile.InputWindows.Cells;
import io.thalamus.npu.machine.Architecture;

/**
 * A pooling on the vector unit: tiles of rows, columns and channels. Padding is not loaded.
 *
 * @param kind MAXIMUM, CENTERED, or 0 for a mean
 */
record PoolLayer(InputWindows input, Results results, int kind) implements Layer<PoolLayer.Plan> {
  private static final int HEIGHT = 0;
  private static final int WIDTH = 1;
  private static final int CHANNELS = 2;
  private static final int BUFFERS = 3;

  /** The addresses of the buffers. */
  record Plan(int[] inputs, int[] outputs) {}

  @Override
  public int[][] choices(Architecture architecture) {
    return results.choices(input.channels());
  }

  @Override
  public Plan plan(int[] tile, Scratch scratch) {
    long count = (long) tile[HEIGHT] * tile[WIDTH] * tile[CHANNELS];
    return new Plan(
        scratch.buffers(tile[BUFFERS], input.tileBytes(tile[HEIGHT], tile[WIDTH], tile[CHANNELS])),
        scratch.buffers(tile[BUFFERS], count * input.elementSize()));
  }

  @Override
  public long commands(int[] tile) {
    return 3L
        * results.tiles(tile[HEIGHT], tile[WIDTH])
        * Axes.count(input.channels(), tile[CHANNELS]);
  }

  @Override
  public void emit(Plan plan, int[] tile, Emitter to) {
    int[] turn = {0};
    for (int first = 0; first < input.channels(); first += tile[CHANNELS]) {
      int firstChannel = first;
      int channels = Math.min(tile[CHANNELS], input.channels() - first);
      results.forEachTile(
          tile[HEIGHT],
          tile[WIDTH],
          pixels -> {
            int buffer = turn[0]++ % plan.inputs().length;
            pool(to, pixels, plan.inputs()[buffer], plan.outputs()[buffer], firstChannel, channels);
          });
    }
  }

  private void pool(Emitter to, PixelTile pixels, int in, int out, int firstChannel, int channels) {
    Cells cells = input.cells(pixels);
    int pixel = channels * input.elementSize();
    int line = cells.columns().count() * pixel;
    input.loadCells(to, pixels, cells, in, line, firstChannel, channels);
    Command.Window window =
        new Command.Window(
            input.flags() | kind,
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
            new Size(cells.rows().count(), cells.columns().count()),
            cells.rows().before(),
            cells.columns().before(),
            out,
            results.min(),
            results.max()));
    results.store(to, out, pixels, firstChannel, channels);
  }
}
