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

  /** The cells of the input that a tile's windows reach, without padding. */
  Cells cells(PixelTile tile) {
    int top = tile.y() * vertical.stride() - vertical.before();
    int left = tile.x() * horizontal.stride() - horizontal.before();
    int height = reach(vertical, tile.height());
    int width = reach(horizontal, tile.width());
    int firstRow = Math.clamp(top, 0, rows);
    int firstColumn = Math.clamp(left, 0, columns);
    return new Cells(
        top,
        left,
        height,
        width,
        firstRow,
        Math.clamp(top + height, firstRow, rows),
        firstColumn,
        Math.clamp(left + width, firstColumn, columns));
  }

  /**
   * A rectangle and the part of it that lies on the input.
   *
   * @param top the first row, which may lie above the input
   * @param left the first column, which may lie left of the input
   */
  record Cells(
      int top,
      int left,
      int height,
      int width,
      int firstRow,
      int endRow,
      int firstColumn,
      int endColumn) {
    int rows() {
      return endRow - firstRow;
    }

    int columns() {
      return endColumn - firstColumn;
    }

    private boolean isEmpty() {
      return rows() == 0 || columns() == 0;
    }
  }

  /** Loads a tile with its padding. */
  void load(Emitter to, PixelTile tile, int address, int firstChannel, int tileChannels) {
    Cells cells = cells(tile);
    int pixel = tileChannels * elementSize();
    int line = cells.width() * pixel;
    if (cells.isEmpty()) {
      fill(to, address, Block.of(cells.height() * line));
      return;
    }
    int above = cells.firstRow() - cells.top();
    int below = cells.height() - above - cells.rows();
    int before = cells.firstColumn() - cells.left();
    int behind = cells.width() - before - cells.columns();
    int inside = address + above * line;
    if (above > 0) {
      fill(to, address, Block.of(above * line));
    }
    if (below > 0) {
      fill(to, inside + cells.rows() * line, Block.of(below * line));
    }
    if (before > 0) {
      fill(to, inside, new Block(before * pixel, cells.rows(), line, 1, 0));
    }
    if (behind > 0) {
      int from = inside + (before + cells.columns()) * pixel;
      fill(to, from, new Block(behind * pixel, cells.rows(), line, 1, 0));
    }
    loadCells(to, tile, cells, inside + before * pixel, line, firstChannel, tileChannels);
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
        (tile.batch() * rows + cells.firstRow()) * row
            + cells.firstColumn() * pixel
            + firstChannel * size;
    int run = cells.columns() * pixel;
    if (tileChannels < channels) {
      int part = tileChannels * size;
      tensor.load(
          to,
          from,
          address,
          new Block(part, cells.columns(), pixel, cells.rows(), row),
          part,
          line);
    } else if (run == row && line == row) {
      tensor.load(to, from, address, Block.of(cells.rows() * row), 0, 0);
    } else {
      tensor.load(to, from, address, new Block(run, cells.rows(), row, 1, 0), line, 0);
    }
  }
}
