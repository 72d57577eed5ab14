// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.machine.Architecture;

/**
 * A depthwise convolution on the vector unit: tiles of rows, columns and channels.
 *
 * @param weights [channel, tap, multiple]: weights of a channel side by side, as columns of one
 *     channel
 */
record DepthwiseLayer(InputWindows input, Results results, ProductWeights weights, int weightZero)
    implements Layer<DepthwiseLayer.Plan> {
  private static final int HEIGHT = 0;
  private static final int WIDTH = 1;
  private static final int CHANNELS = 2;
  private static final int BUFFERS = 3;

  private int multiplier() {
    return results.channels() / input.channels();
  }

  /** The addresses of the buffers. */
  record Plan(int[] inputs, int[] packed, int[] tables, int[] outputs, int[] sums) {}

  @Override
  public int[][] choices(Architecture architecture) {
    return results.choices(input.channels());
  }

  @Override
  public Plan plan(int[] tile, Scratch scratch) {
    int buffers = tile[BUFFERS];
    int columns = tile[CHANNELS] * multiplier();
    long count = (long) tile[HEIGHT] * tile[WIDTH] * columns;
    return new Plan(
        scratch.buffers(buffers, input.tileBytes(tile[HEIGHT], tile[WIDTH], tile[CHANNELS])),
        scratch.buffers(buffers, (long) input.taps() * columns * input.elementSize()),
        scratch.buffers(buffers, results.tableBytes(columns)),
        scratch.buffers(buffers, count * input.elementSize()),
        scratch.accumulators(buffers, count));
  }

  @Override
  public long commands(int[] tile) {
    return 5L
        * results.tiles(tile[HEIGHT], tile[WIDTH])
        * Axes.count(input.channels(), tile[CHANNELS]);
  }

  @Override
  public void emit(Plan plan, int[] tile, Emitter to) {
    int[] turn = {0};
    for (int first = 0; first < input.channels(); first += tile[CHANNELS]) {
      int firstChannel = first;
      int channels = Math.min(tile[CHANNELS], input.channels() - first);
      int columns = channels * multiplier();
      int group = first / tile[CHANNELS] % plan.packed().length;
      ProductWeights.Tile packed = weights.tile(firstChannel * multiplier(), columns, 0, 1);
      to.add(
          new LoadPacked(
              to.address(packed), packed.size(), plan.packed()[group], packed.unpackedSize()));
      results.loadTable(to, plan.tables()[group], firstChannel * multiplier(), columns);
      results.forEachTile(
          tile[HEIGHT],
          tile[WIDTH],
          pixels -> {
            int buffer = turn[0]++ % plan.inputs().length;
            input.load(to, pixels, plan.inputs()[buffer], firstChannel, channels);
            to.add(
                new Depthwise(
                    input.window(pixels, plan.inputs()[buffer], firstChannel, channels, 0),
                    multiplier(),
                    plan.packed()[group],
                    plan.sums()[buffer],
                    input.zero(),
                    weightZero));
            results.requantize(
                to,
                plan.sums()[buffer],
                columns,
                1,
                pixels.height() * pixels.width(),
                columns,
                plan.tables()[group],
                plan.outputs()[buffer]);
            results.store(to, plan.outputs()[buffer], pixels, firstChannel * multiplier(), columns);
          });
    }
  }
}
