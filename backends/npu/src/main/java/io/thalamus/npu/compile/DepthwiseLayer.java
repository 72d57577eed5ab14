// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.machine.Architecture;

/** A depthwise convolution on the vector unit: tiles of rows, columns and channels. */
final class DepthwiseLayer implements Layer {
  private static final int HEIGHT = 0;
  private static final int WIDTH = 1;
  private static final int CHANNELS = 2;
  private static final int BUFFERS = 3;

  private final Architecture architecture;
  private final InputWindows input;
  private final Results results;

  /** [channel, tap, multiple]: weights of a channel side by side, as columns of one channel. */
  private final ProductWeights weights;

  private final int multiplier;
  private final int weightZero;
  private final int[][] choices;

  DepthwiseLayer(
      Architecture architecture,
      InputWindows input,
      Results results,
      ProductWeights weights,
      int weightZero) {
    this.architecture = architecture;
    this.input = input;
    this.results = results;
    this.weights = weights;
    this.multiplier = results.channels() / input.channels();
    this.weightZero = weightZero;
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
    final int[] packed;
    final int[] tables;
    final int[] outputs;
    final int[] sums;

    Plan(int[] tiling) {
      tile = Axes.values(choices, tiling);
      int buffers = tile[BUFFERS];
      int columns = tile[CHANNELS] * multiplier;
      long count = (long) tile[HEIGHT] * tile[WIDTH] * columns;
      inputs = scratch.buffers(buffers, input.tileBytes(tile[HEIGHT], tile[WIDTH], tile[CHANNELS]));
      packed = scratch.buffers(buffers, (long) input.taps() * columns * input.elementSize());
      tables = scratch.buffers(buffers, results.tableBytes(columns));
      outputs = scratch.buffers(buffers, count * input.elementSize());
      sums = scratch.accumulators(buffers, count);
    }
  }

  @Override
  public boolean fits(int[] tiling) {
    return new Plan(tiling).scratch.fits();
  }

  @Override
  public long commands(int[] tiling) {
    int[] tile = Axes.values(choices, tiling);
    return 5L
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
      int columns = channels * multiplier;
      int group = first / plan.tile[CHANNELS] % plan.packed.length;
      ProductWeights.Tile tile = weights.tile(firstChannel * multiplier, columns, 0, 1);
      to.add(
          new LoadPacked(to.address(tile), tile.size(), plan.packed[group], tile.unpackedSize()));
      results.loadTable(to, plan.tables[group], firstChannel * multiplier, columns);
      results.forEachTile(
          plan.tile[HEIGHT],
          plan.tile[WIDTH],
          pixels -> {
            int buffer = turn[0]++ % plan.inputs.length;
            input.load(to, pixels, plan.inputs[buffer], firstChannel, channels);
            to.add(
                new Depthwise(
                    input.window(pixels, plan.inputs[buffer], firstChannel, channels, 0),
                    multiplier,
                    plan.packed[group],
                    plan.sums[buffer],
                    input.zero(),
                    weightZero));
            results.requantize(
                to,
                plan.sums[buffer],
                columns,
                1,
                pixels.height() * pixels.width(),
                columns,
                plan.tables[group],
                plan.outputs[buffer]);
            results.store(to, plan.outputs[buffer], pixels, firstChannel * multiplier, columns);
          });
    }
  }
}
