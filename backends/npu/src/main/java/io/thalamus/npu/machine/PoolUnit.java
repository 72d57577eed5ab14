// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Window;

/** The vector unit's poolings. Stateless; commands have been checked. */
final class PoolUnit {
  private PoolUnit() {}

  static void pool(Pool pool, Sram memory) {
    Window window = pool.window();
    boolean isFloat = window.has(Command.FLOAT16);
    int to = pool.to();
    int pixel = window.channels() * window.elementSize();
    for (int y = 0; y < window.output().height(); y++) {
      int top = y * window.stride().height() - pool.top();
      int firstY = Math.max(top, 0);
      int endY = Math.min(top + window.kernel().height(), pool.input().height());
      for (int x = 0; x < window.output().width(); x++) {
        int left = x * window.stride().width() - pool.left();
        int firstX = Math.max(left, 0);
        int endX = Math.min(left + window.kernel().width(), pool.input().width());
        if (isFloat) {
          floats(pool, memory.scratchpad, firstY, endY, firstX, endX, to);
        } else {
          integers(pool, memory.scratchpad, firstY, endY, firstX, endX, to);
        }
        to += pixel;
      }
    }
  }

  private static void integers(
      Pool pool, byte[] pad, int firstY, int endY, int firstX, int endX, int to) {
    Window window = pool.window();
    boolean isMaximum = window.has(Command.MAXIMUM);
    boolean isUnsigned = window.has(Command.UNSIGNED);
    int cells = Math.max(1, Math.max(0, endY - firstY) * Math.max(0, endX - firstX));
    int least = isUnsigned ? 0 : Byte.MIN_VALUE;
    int origin = window.has(Command.CENTERED) ? least - Byte.MIN_VALUE : least;
    for (int c = 0; c < window.channels(); c++) {
      int result = isMaximum ? Integer.MIN_VALUE : -origin * cells;
      for (int y = firstY; y < endY; y++) {
        int row = window.input() + y * window.inputRow() + c;
        for (int x = firstX; x < endX; x++) {
          int stored = pad[row + x * window.inputPixel()];
          stored = isUnsigned ? stored & 0xFF : stored;
          result = isMaximum ? Math.max(result, stored) : result + stored;
        }
      }
      if (!isMaximum) {
        result = (result < 0 ? result - cells / 2 : result + cells / 2) / cells + origin;
      }
      pad[to + c] = (byte) Math.min(Math.max(result, pool.min()), pool.max());
    }
  }

  private static void floats(
      Pool pool, byte[] pad, int firstY, int endY, int firstX, int endX, int to) {
    Window window = pool.window();
    boolean isMaximum = window.has(Command.MAXIMUM);
    float min = Float.intBitsToFloat(pool.min());
    float max = Float.intBitsToFloat(pool.max());
    int cells = Math.max(0, endY - firstY) * Math.max(0, endX - firstX);
    for (int c = 0; c < window.channels(); c++) {
      float result = isMaximum ? Float.NEGATIVE_INFINITY : 0;
      for (int y = firstY; y < endY; y++) {
        int row = window.input() + y * window.inputRow() + 2 * c;
        for (int x = firstX; x < endX; x++) {
          float value = Bytes.halfAt(pad, row + x * window.inputPixel());
          result = isMaximum ? Math.max(result, value) : result + value;
        }
      }
      result = isMaximum ? result : result / cells;
      Bytes.setHalf(pad, to + 2 * c, Math.min(Math.max(result, min), max));
    }
  }
}
