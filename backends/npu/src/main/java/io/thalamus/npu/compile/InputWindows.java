// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.operations.Window;

/**
 * The input of an operation whose windows move over rows and columns: [batch, row, column, channel]
 * in DRAM, and in tiles with their padding in the scratchpad. Immutable.
 *
 * @param tensor that is read
 * @param rows of a batch
 * @param columns of a row
 * @param channels of a pixel
 * @param vertical movement along the rows
 * @param horizontal movement along the columns
 * @param flags of the type: UNSIGNED, FLOAT16
 * @param zero what padding holds
 */
record InputWindows(
    Tensor tensor,
    int rows,
    int columns,
    int channels,
    Window vertical,
    Window horizontal,
    int flags,
    int zero) {
  boolean isFloat() {
    return (flags & Command.FLOAT16) != 0;
  }

  int elementSize() {
    return isFloat() ? 2 : 1;
  }

  /** Cells of a window. */
  int taps() {
    return vertical.size() * horizontal.size();
  }

  private static int reach(Window window, int outputs) {
    return (outputs - 1) * window.stride() + window.reach();
  }

  /** Bytes of a tile with its padding. */
  long tileBytes(int outputRows, int outputColumns, int tileChannels) {
    return (long) reach(vertical, outputRows)
        * reach(horizontal, outputColumns)
        * tileChannels
        * elementSize();
  }

  /** The windows of a tile that has been loaded with its padding. */
  Command.Window window(
      PixelTile tile, int address, int firstChannel, int tileChannels, int moreFlags) {
    int pixel = tileChannels * elementSize();
    return new Command.Window(
        flags | moreFlags,
        address,
        reach(horizontal, tile.width()) * pixel,
        pixel,
        tileChannels,
        new Size(vertical.size(), horizontal.size()),
        new Size(vertical.dilation(), horizontal.dilation()),
        new Size(vertical.stride(), horizontal.stride()),
        new Size(tile.height(), tile.width()));
  }

  /** The cells that a tile's windows reach. */
  Cells cells(PixelTile tile) {
    return new Cells(
        Cells.along(vertical, tile.y(), tile.height(), rows),
        Cells.along(horizontal, tile.x(), tile.width(), columns));
  }

  /** A rectangle of cells, of which some may lie beside the input. */
  record Cells(Span rows, Span columns) {
    private static Span along(Window window, int position, int outputs, int size) {
      int origin = window.cell(position, 0);
      int end = origin + reach(window, outputs);
      int first = Math.clamp(origin, 0, size);
      int count = Math.clamp(end, first, size) - first;
      return new Span(first - origin, first, count, end - first - count);
    }
  }

  /**
   * The cells along one axis.
   *
   * @param before number of cells in front of the input
   * @param first cell on the input
   * @param count of cells on the input
   * @param behind number of cells behind the input
   */
  record Span(int before, int first, int count, int behind) {
    int length() {
      return before + count + behind;
    }
  }

  /** Loads a tile with its padding. */
  void load(Emitter to, PixelTile tile, int address, int firstChannel, int tileChannels) {
    Cells cells = cells(tile);
    Span lines = cells.rows();
    Span pixels = cells.columns();
    int pixel = tileChannels * elementSize();
    int line = pixels.length() * pixel;
    if (lines.count() == 0 || pixels.count() == 0) {
      fill(to, address, Block.of(lines.length() * line));
      return;
    }
    int inside = address + lines.before() * line;
    if (lines.before() > 0) {
      fill(to, address, Block.of(lines.before() * line));
    }
    if (lines.behind() > 0) {
      fill(to, inside + lines.count() * line, Block.of(lines.behind() * line));
    }
    if (pixels.before() > 0) {
      fill(to, inside, new Block(pixels.before() * pixel, lines.count(), line, 1, 0));
    }
    int first = inside + pixels.before() * pixel;
    if (pixels.behind() > 0) {
      int from = first + pixels.count() * pixel;
      fill(to, from, new Block(pixels.behind() * pixel, lines.count(), line, 1, 0));
    }
    loadCells(to, tile, cells, first, line, firstChannel, tileChannels);
  }

  private void fill(Emitter to, int address, Block block) {
    to.add(new Fill(address, block, zero));
  }

  /** Loads the cells on the input to lines of a tile. */
  void loadCells(
      Emitter to,
      PixelTile tile,
      Cells cells,
      int address,
      int line,
      int firstChannel,
      int tileChannels) {
    int size = elementSize();
    int pixel = channels * size;
    int row = columns * pixel;
    int from =
        (tile.batch() * rows + cells.rows().first()) * row
            + cells.columns().first() * pixel
            + firstChannel * size;
    int lines = cells.rows().count();
    int run = cells.columns().count() * pixel;
    if (tileChannels < channels) {
      int part = tileChannels * size;
      Block block = new Block(part, cells.columns().count(), pixel, lines, row);
      tensor.load(to, from, address, block, part, line);
    } else if (run == row && line == row) {
      tensor.load(to, from, address, Block.of(lines * row), 0, 0);
    } else {
      tensor.load(to, from, address, new Block(run, lines, row, 1, 0), line, 0);
    }
  }
}
