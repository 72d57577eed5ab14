// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.machine.Architecture;

/** A convolution or a matrix product on the array: tiles of rows, columns, output channels. */
final class ProductLayer implements Layer {
  private static final int COLUMNS = 0;
  private static final int HEIGHT = 1;
  private static final int WIDTH = 2;
  private static final int CHANNELS = 3;
  private static final int BUFFERS = 4;

  /** 1: output channels within pixels; 0: pixels within output channels. */
  private static final int PIXELS_OUTSIDE = 5;

  /** Returns whether all weights stay in the scratchpad. */
  private static final int KEEPS_WEIGHTS = 6;

  private final Architecture architecture;
  private final InputWindows input;
  private final Results results;
  private final ProductWeights weights;
  private final int weightZero;
  private final int[][] choices;

  ProductLayer(
      Architecture architecture,
      InputWindows input,
      Results results,
      ProductWeights weights,
      int weightZero) {
    this.architecture = architecture;
    this.input = input;
    this.results = results;
    this.weights = weights;
    this.weightZero = weightZero;
    choices =
        new int[][] {
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
  public int[][] choices() {
    return choices;
  }

  /** The buffers of a tiling. */
  private final class Plan {
    final int[] tile;
    final int columnTiles;
    final int channelTiles;
    final Scratch scratch = new Scratch(architecture);
    final int[] inputs;
    final int[] packed;
    final int[] tables;
    final int[] outputs;
    final int[] sums;

    Plan(int[] tiling) {
      tile = Axes.values(choices, tiling);
      columnTiles = Axes.count(weights.columns(), tile[COLUMNS]);
      channelTiles = Axes.count(weights.channels(), tile[CHANNELS]);
      int buffers = tile[BUFFERS];
      long pixels = (long) tile[HEIGHT] * tile[WIDTH];
      inputs = scratch.buffers(buffers, input.tileBytes(tile[HEIGHT], tile[WIDTH], tile[CHANNELS]));
      long weightBytes = (long) tile[COLUMNS] * input.taps() * tile[CHANNELS] * input.elementSize();
      int kept = tile[KEEPS_WEIGHTS] == 0 ? buffers : columnTiles * channelTiles;
      packed =
          kept * weightBytes > architecture.scratchpad()
              ? null
              : scratch.buffers(kept, weightBytes);
      tables = scratch.buffers(buffers, results.tableBytes(tile[COLUMNS]));
      outputs = scratch.buffers(buffers, pixels * tile[COLUMNS] * input.elementSize());
      sums = scratch.accumulators(buffers, pixels * tile[COLUMNS]);
    }

    boolean fits() {
      return packed != null && scratch.fits();
    }
  }

  @Override
  public boolean fits(int[] tiling) {
    return new Plan(tiling).fits();
  }

  @Override
  public long commands(int[] tiling) {
    int[] tile = Axes.values(choices, tiling);
    long tiles =
        (long) Axes.count(results.height(), tile[HEIGHT])
            * Axes.count(results.width(), tile[WIDTH])
            * results.batches()
            * Axes.count(weights.columns(), tile[COLUMNS]);
    return tiles * (2 + 3L * Axes.count(weights.channels(), tile[CHANNELS]));
  }

  @Override
  public void emit(int[] tiling, Emitter to) {
    Plan plan = new Plan(tiling);
    new Emission(plan, to).run(plan.tile[PIXELS_OUTSIDE] != 0);
  }

  /** One walk over all tiles. */
  private final class Emission {
    private final Plan plan;
    private final Emitter to;
    private final Slots inputs;
    private final Slots packed;
    private final Slots tables;
    private int turn;

    Emission(Plan plan, Emitter to) {
      this.plan = plan;
      this.to = to;
      inputs = new Slots(plan.inputs);
      packed = new Slots(plan.packed);
      tables = new Slots(plan.tables);
    }

    void run(boolean pixelsOutside) {
      if (pixelsOutside) {
        results.forEachTile(
            plan.tile[HEIGHT],
            plan.tile[WIDTH],
            pixels -> {
              for (int i = 0; i < plan.columnTiles; i++) {
                compute(pixels, i);
              }
            });
      } else {
        for (int i = 0; i < plan.columnTiles; i++) {
          int columns = i;
          results.forEachTile(
              plan.tile[HEIGHT], plan.tile[WIDTH], pixels -> compute(pixels, columns));
        }
      }
    }

    private void compute(PixelTile pixels, int columnTile) {
      int first = columnTile * plan.tile[COLUMNS];
      int columns = Math.min(plan.tile[COLUMNS], weights.columns() - first);
      int buffer = turn++ % plan.sums.length;
      int table = tables.find(columnTile);
      for (int i = 0; i < plan.channelTiles; i++) {
        int firstChannel = i * plan.tile[CHANNELS];
        int channels = Math.min(plan.tile[CHANNELS], weights.channels() - firstChannel);
        int in = input(pixels, i, firstChannel, channels);
        int weight =
            weights(columnTile * plan.channelTiles + i, first, columns, firstChannel, channels);
        to.add(
            new MatMul(
                input.window(pixels, in, firstChannel, channels, i == 0 ? 0 : Command.ACCUMULATE),
                columns,
                weight,
                plan.sums[buffer],
                input.zero(),
                weightZero));
      }
      if (table < 0) {
        table = tables.take(columnTile);
        results.loadTable(to, table, first, columns);
      }
      int count = (int) new Size(pixels.height(), pixels.width()).area();
      results.requantize(
          to, plan.sums[buffer], 1, count, count, columns, table, plan.outputs[buffer]);
      results.store(to, plan.outputs[buffer], pixels, first, columns);
    }

    private int input(PixelTile pixels, int channelTile, int firstChannel, int channels) {
      long key = (long) pixels.index() * plan.channelTiles + channelTile;
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
        ProductWeights.Tile tile = weights.tile(first, columns, firstChannel, channels);
        to.add(new LoadPacked(to.address(tile), tile.size(), address, tile.unpackedSize()));
      }
      return address;
    }
  }
}
