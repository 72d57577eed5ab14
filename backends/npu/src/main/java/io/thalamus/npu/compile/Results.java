// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.machine.Footprint;
import java.util.function.Consumer;

/**
 * The output of an operation on rows and columns: how sums become stored values, and where they go.
 * Immutable.
 *
 * @param tensor that is written, [batch, row, column, channel]
 * @param batches of it
 * @param height rows of a batch
 * @param width columns of a row
 * @param channels of a pixel
 * @param flags FLOAT16, ROUND_ONCE, ROUND_TO_EVEN
 * @param table by channel: bias, factor and shift, or a float32 bias; null for what has no sums
 * @param zero added to results
 * @param min the least result
 * @param max the largest result
 */
record Results(
    Tensor tensor,
    int batches,
    int height,
    int width,
    int channels,
    int flags,
    Constant table,
    int zero,
    int min,
    int max) {
  private int entry() {
    return (flags & Command.FLOAT16) != 0 ? Float.BYTES : Footprint.TABLE_ENTRY;
  }

  private int elementSize() {
    return (flags & Command.FLOAT16) != 0 ? 2 : 1;
  }

  /** Bytes of some channels' part of the table. */
  int tableBytes(int count) {
    return count * entry();
  }

  /** Loads some channels' part of the table. */
  void loadTable(Emitter to, int address, int firstChannel, int count) {
    to.add(
        new Load(
            Command.WEIGHTS,
            to.address(table) + firstChannel * entry(),
            address,
            Block.of(tableBytes(count)),
            0,
            0));
  }

  /** Makes stored values of sums; they stand densely. */
  void requantize(
      Emitter to,
      int sums,
      int pixelStride,
      int channelStride,
      int pixels,
      int count,
      int tableAddress,
      int address) {
    to.add(
        new Requantize(
            flags,
            sums,
            pixelStride,
            channelStride,
            pixels,
            count,
            tableAddress,
            address,
            count * elementSize(),
            zero,
            min,
            max));
  }

  void store(Emitter to, int address, PixelTile tile, int firstChannel, int count) {
    int size = elementSize();
    int pixel = channels * size;
    int row = width * pixel;
    int part = count * size;
    int at = (tile.batch() * height + tile.y()) * row + tile.x() * pixel + firstChannel * size;
    if (count < channels) {
      tensor.store(
          to,
          address,
          at,
          new Block(part, tile.width(), part, tile.height(), tile.width() * part),
          pixel,
          row);
    } else if (tile.width() == width) {
      tensor.store(to, address, at, Block.of(tile.height() * row), 0, 0);
    } else {
      int run = tile.width() * pixel;
      tensor.store(to, address, at, new Block(run, tile.height(), run, 1, 0), row, 0);
    }
  }

  /** By axis: rows and columns of a tile, channels of the input, and buffers. */
  int[][] choices(int inputChannels) {
    return new int[][] {
      Axes.parts(height), Axes.parts(width), Axes.parts(inputChannels), Axes.buffers(),
    };
  }

  /** Returns how many tiles there are of a size. */
  long tiles(int tileHeight, int tileWidth) {
    return (long) batches * Axes.count(height, tileHeight) * Axes.count(width, tileWidth);
  }

  /** Visits all tiles of a size, row by row. */
  void forEachTile(int tileHeight, int tileWidth, Consumer<PixelTile> visitor) {
    int index = 0;
    for (int batch = 0; batch < batches; batch++) {
      for (int y = 0; y < height; y += tileHeight) {
        for (int x = 0; x < width; x += tileWidth) {
          visitor.accept(
              new PixelTile(
                  index++,
                  batch,
                  y,
                  x,
                  Math.min(tileHeight, height - y),
                  Math.min(tileWidth, width - x)));
        }
      }
    }
  }
}
