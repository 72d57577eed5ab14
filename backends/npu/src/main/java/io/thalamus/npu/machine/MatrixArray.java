// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Window;
import java.util.Arrays;

/**
 * The products of the systolic array. Stateless; commands have been checked.
 *
 * <p>Sums of integers do not depend on their order, so this adds up in the order that suits the
 * host: several cells of the window at a time, for all pixels of a tile side by side. Sums of
 * floats are always added in the order of the cells.
 */
final class MatrixArray {
  /** Cells that are multiplied at a time. */
  static final int ROWS = 4;

  /** With fewer pixels, columns are computed side by side. */
  private static final int FEW_PIXELS = 8;

  private MatrixArray() {}

  static void multiply(MatMul product, int arrayColumns, Sram memory) {
    Window window = product.window();
    int pixels = window.output().height() * window.output().width();
    int first = product.accumulators();
    int end = first + product.columns() * pixels;
    if (window.has(Command.FLOAT16)) {
      if (!window.has(Command.ACCUMULATE)) {
        Arrays.fill(memory.floatSums, first, end, 0);
      }
      floats(product, arrayColumns, memory, pixels);
      return;
    }
    if (!window.has(Command.ACCUMULATE)) {
      Arrays.fill(memory.sums, first, end, 0);
    }
    if (pixels < FEW_PIXELS) {
      byColumns(product, arrayColumns, memory, pixels);
    } else {
      byPixels(product, arrayColumns, memory, pixels);
    }
  }

  /** The offset of a cell of the window from the window's first. */
  private static int cellOffset(Window window, int cell) {
    int tap = cell / window.channels();
    int channel = cell - tap * window.channels();
    int y = tap / window.kernel().width();
    int x = tap - y * window.kernel().width();
    return y * window.dilation().height() * window.inputRow()
        + x * window.dilation().width() * window.inputPixel()
        + channel * window.elementSize();
  }

  private static void byPixels(MatMul product, int arrayColumns, Sram memory, int pixels) {
    Window window = product.window();
    int cells = window.kernel().height() * window.kernel().width() * window.channels();
    int[] inputs = memory.inputs;
    byte[] pad = memory.scratchpad;
    int zero = product.weightZero();
    for (int cell = 0; cell < cells; cell += ROWS) {
      int rows = Math.min(ROWS, cells - cell);
      for (int r = 0; r < rows; r++) {
        gather(window, product.inputZero(), pad, cellOffset(window, cell + r), inputs, r * pixels);
      }
      for (int block = 0; block < product.columns(); block += arrayColumns) {
        int width = Math.min(arrayColumns, product.columns() - block);
        int weight = product.weights() + block * cells + cell * width;
        for (int c = 0; c < width; c++) {
          int sums = product.accumulators() + (block + c) * pixels;
          if (rows == ROWS) {
            addProducts(
                memory.sums,
                sums,
                inputs,
                pixels,
                pad[weight + c] - zero,
                pad[weight + width + c] - zero,
                pad[weight + 2 * width + c] - zero,
                pad[weight + 3 * width + c] - zero);
          } else {
            for (int r = 0; r < rows; r++) {
              addProduct(
                  memory.sums,
                  sums,
                  inputs,
                  r * pixels,
                  pixels,
                  pad[weight + r * width + c] - zero);
            }
          }
        }
      }
    }
  }

  /** One cell of all windows, less the zero point. */
  private static void gather(
      Window window, int inputZero, byte[] pad, int offset, int[] inputs, int at) {
    // An unsigned byte with its highest bit turned is a signed one less 128.
    int turn = window.has(Command.UNSIGNED) ? 0x80 : 0;
    int zero = inputZero - turn;
    int height = window.output().height();
    int width = window.output().width();
    int step = window.stride().width() * window.inputPixel();
    for (int y = 0; y < height; y++) {
      int from = window.input() + offset + y * window.stride().height() * window.inputRow();
      for (int x = 0; x < width; x++) {
        inputs[at + x] = (byte) (pad[from + x * step] ^ turn) - zero;
      }
      at += width;
    }
  }

  private static void addProducts(
      int[] sums, int at, int[] inputs, int pixels, int w0, int w1, int w2, int w3) {
    int second = 2 * pixels;
    int third = 3 * pixels;
    for (int i = 0; i < pixels; i++) {
      sums[at + i] +=
          w0 * inputs[i]
              + w1 * inputs[pixels + i]
              + w2 * inputs[second + i]
              + w3 * inputs[third + i];
    }
  }

  private static void addProduct(
      int[] sums, int at, int[] inputs, int from, int pixels, int weight) {
    for (int i = 0; i < pixels; i++) {
      sums[at + i] += weight * inputs[from + i];
    }
  }

  private static void byColumns(MatMul product, int arrayColumns, Sram memory, int pixels) {
    Window window = product.window();
    int cells = window.kernel().height() * window.kernel().width() * window.channels();
    int[] inputs = memory.inputs;
    byte[] pad = memory.scratchpad;
    for (int cell = 0; cell < cells; cell++) {
      gather(window, product.inputZero(), pad, cellOffset(window, cell), inputs, 0);
      for (int block = 0; block < product.columns(); block += arrayColumns) {
        int width = Math.min(arrayColumns, product.columns() - block);
        int weight = product.weights() + block * cells + cell * width;
        for (int pixel = 0; pixel < pixels; pixel++) {
          addRow(
              memory.sums,
              product.accumulators() + block * pixels + pixel,
              pixels,
              pad,
              weight,
              width,
              product.weightZero(),
              inputs[pixel]);
        }
      }
    }
  }

  private static void addRow(
      int[] sums, int at, int step, byte[] pad, int weight, int width, int zero, int input) {
    if (step == 1) {
      for (int c = 0; c < width; c++) {
        sums[at + c] += input * (pad[weight + c] - zero);
      }
    } else {
      for (int c = 0; c < width; c++) {
        sums[at + c * step] += input * (pad[weight + c] - zero);
      }
    }
  }

  private static void floats(MatMul product, int arrayColumns, Sram memory, int pixels) {
    Window window = product.window();
    int cells = window.kernel().height() * window.kernel().width() * window.channels();
    byte[] pad = memory.scratchpad;
    float[] sums = memory.floatSums;
    for (int cell = 0; cell < cells; cell++) {
      int offset = cellOffset(window, cell);
      for (int block = 0; block < product.columns(); block += arrayColumns) {
        int width = Math.min(arrayColumns, product.columns() - block);
        int weight = product.weights() + 2 * (block * cells + cell * width);
        for (int c = 0; c < width; c++) {
          float factor = Bytes.halfAt(pad, weight + 2 * c);
          int at = product.accumulators() + (block + c) * pixels;
          for (int y = 0; y < window.output().height(); y++) {
            int from = window.input() + offset + y * window.stride().height() * window.inputRow();
            int step = window.stride().width() * window.inputPixel();
            for (int x = 0; x < window.output().width(); x++) {
              sums[at++] += factor * Bytes.halfAt(pad, from + x * step);
            }
          }
        }
      }
    }
  }
}
