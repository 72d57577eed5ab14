// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.machine.Architecture;

/** A convolution or a matrix product on the array: tiles of rows, columns, output channels. */
record ProductLayer(InputWindows input, Results results, ProductWeights weights, int weightZero)
    implements Layer<ProductLayer.Plan> {
  private static final int COLUMNS = 0;
  private static final int HEIGHT = 1;
  private static final int WIDTH = 2;
  private static final int CHANNELS = 3;
  private static final int BUFFERS = 4;

  /** 1: output channels within pixels; 0: pixels within output channels. */
  private static final int PIXELS_OUTSIDE = 5;

  /** Returns whether all weights stay in the scratchpad. */
  private static final int KEEPS_WEIGHTS = 6;

  /** The addresses of the buffers. */
  record Plan(int[] inputs, int[] packed, int[] tables, int[] outputs, int[] sums) {}

  @Override
  public int[][] choices(Architecture architecture) {
    return new int[][] {
      Axes.parts(weights.columns(), architecture.array().columns()),
      Axes.parts(results.height()),
      Axes.parts(results.width()),
      // Sums of floats are never cut: their order would depend on the tiling.
      input.isFloat()
          ? Axes.only(weights.channels())
          : Axes.parts(weights.channels(), architecture.array().rows()),
      Axes.buffers(),
      Axes.flag(),
      Axes.flag(),
    };
  }

  @Override
  public Plan plan(int[] tile, Scratch scratch) {
    int buffers = tile[BUFFERS];
    int size = input.elementSize();
    long sums = (long) tile[HEIGHT] * tile[WIDTH] * tile[COLUMNS];
    int kept = tile[KEEPS_WEIGHTS] == 0 ? buffers : weightTiles(tile);
    return new Plan(
        scratch.buffers(buffers, input.tileBytes(tile[HEIGHT], tile[WIDTH], tile[CHANNELS])),
        scratch.buffers(kept, (long) tile[COLUMNS] * input.taps() * tile[CHANNELS] * size),
        scratch.buffers(buffers, results.tableBytes(tile[COLUMNS])),
        scratch.buffers(buffers, sums * size),
        scratch.accumulators(buffers, sums));
  }

  private int weightTiles(int[] tile) {
    return Axes.count(weights.columns(), tile[COLUMNS])
        * Axes.count(weights.channels(), tile[CHANNELS]);
  }

  @Override
  public long commands(int[] tile) {
    return results.tiles(tile[HEIGHT], tile[WIDTH])
        * (2L * Axes.count(weights.columns(), tile[COLUMNS]) + 3L * weightTiles(tile));
  }

  @Override
  public void emit(Plan plan, int[] tile, Emitter to) {
    new Emission(plan, tile, to).run(tile[PIXELS_OUTSIDE] != 0);
  }

  /** One walk over all tiles. */
  private final class Emission {
    private final Plan plan;
    private final int[] tile;
    private final Emitter to;
    private final int columnTiles;
    private final int channelTiles;
    private final Slots inputs;
    private final Slots packed;
    private final Slots tables;
    private int turn;

    Emission(Plan plan, int[] tile, Emitter to) {
      this.plan = plan;
      this.tile = tile;
      this.to = to;
      columnTiles = Axes.count(weights.columns(), tile[COLUMNS]);
      channelTiles = Axes.count(weights.channels(), tile[CHANNELS]);
      inputs = new Slots(plan.inputs());
      packed = new Slots(plan.packed());
      tables = new Slots(plan.tables());
    }

    void run(boolean pixelsOutside) {
      if (pixelsOutside) {
        results.forEachTile(
            tile[HEIGHT],
            tile[WIDTH],
            pixels -> {
              for (int i = 0; i < columnTiles; i++) {
                compute(pixels, i);
              }
            });
      } else {
        for (int i = 0; i < columnTiles; i++) {
          int columns = i;
          results.forEachTile(tile[HEIGHT], tile[WIDTH], pixels -> compute(pixels, columns));
        }
      }
    }

    private void compute(PixelTile pixels, int columnTile) {
      int first = columnTile * tile[COLUMNS];
      int columns = Math.min(tile[COLUMNS], weights.columns() - first);
      int buffer = turn++ % plan.sums().length;
      int table = tables.find(columnTile);
      for (int i = 0; i < channelTiles; i++) {
        int firstChannel = i * tile[CHANNELS];
        int channels = Math.min(tile[CHANNELS], weights.channels() - firstChannel);
        int in = input(pixels, i, firstChannel, channels);
        int weight = weights(columnTile * channelTiles + i, first, columns, firstChannel, channels);
        to.add(
            new MatMul(
                input.window(pixels, in, firstChannel, channels, i == 0 ? 0 : Command.ACCUMULATE),
                columns,
                weight,
                plan.sums()[buffer],
                input.zero(),
                weightZero));
      }
      if (table < 0) {
        table = tables.take(columnTile);
        results.loadTable(to, table, first, columns);
      }
      int count = (int) new Size(pixels.height(), pixels.width()).area();
      results.requantize(
          to, plan.sums()[buffer], 1, count, count, columns, table, plan.outputs()[buffer]);
      results.store(to, plan.outputs()[buffer], pixels, first, columns);
    }

    private int input(PixelTile pixels, int channelTile, int firstChannel, int channels) {
      long key = (long) pixels.index() * channelTiles + channelTile;
      int address = inputs.find(key);
      if (address < 0) {
        address = inputs.take(key);
        input.load(to, pixels, address, firstChannel, channels);
      }
      return address;
    }

    private int weights(long key, int first, int columns, int firstChannel, int channels) {
      int address = packed.find(key);
      if (address < 0) {
        address = packed.take(key);
        ProductWeights.Tile part = weights.tile(first, columns, firstChannel, channels);
        to.add(new LoadPacked(to.address(part), part.size(), address, part.unpackedSize()));
      }
      return address;
    }
  }
}
