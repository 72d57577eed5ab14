// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.command.Command.Window;

/**
 * The vector unit's work on float16: in float32, rounded when it is stored. Sums are added in the
 * order of the window's cells. Stateless; commands have been checked.
 */
final class FloatUnit {
  private FloatUnit() {}

  static void depthwise(Depthwise product, Sram memory) {
    Window window = product.window();
    int at = product.accumulators();
    for (int y = 0; y < window.output().height(); y++) {
      for (int x = 0; x < window.output().width(); x++) {
        int from =
            window.input()
                + y * window.stride().height() * window.inputRow()
                + x * window.stride().width() * window.inputPixel();
        for (int c = 0; c < window.channels(); c++) {
          for (int j = 0; j < product.multiplier(); j++) {
            float sum = window.has(Command.ACCUMULATE) ? memory.floatSums[at] : 0;
            memory.floatSums[at++] = sum(product, memory.scratchpad, from + 2 * c, c, j, sum);
          }
        }
      }
    }
  }

  private static float sum(Depthwise product, byte[] pad, int from, int c, int j, float start) {
    Window window = product.window();
    int channels = window.channels() * product.multiplier();
    int weight = product.weights() + 2 * (c * product.multiplier() + j);
    float sum = start;
    for (int ky = 0; ky < window.kernel().height(); ky++) {
      int row = from + ky * window.dilation().height() * window.inputRow();
      for (int kx = 0; kx < window.kernel().width(); kx++) {
        sum +=
            Bytes.halfAt(pad, row + kx * window.dilation().width() * window.inputPixel())
                * Bytes.halfAt(pad, weight);
        weight += 2 * channels;
      }
    }
    return sum;
  }

  static void store(Requantize results, Sram memory) {
    byte[] pad = memory.scratchpad;
    float min = Float.intBitsToFloat(results.min());
    float max = Float.intBitsToFloat(results.max());
    for (int c = 0; c < results.channels(); c++) {
      float bias = Float.intBitsToFloat(Bytes.intAt(pad, results.table() + c * Float.BYTES));
      int from = results.accumulators() + c * results.channelStride();
      int to = results.to() + 2 * c;
      for (int i = 0; i < results.pixels(); i++) {
        float value = memory.floatSums[from + i * results.pixelStride()] + bias;
        Bytes.setHalf(pad, to + i * results.toPixel(), Math.min(Math.max(value, min), max));
      }
    }
  }

  static void elementwise(Elementwise pair, Sram memory) {
    byte[] pad = memory.scratchpad;
    boolean isProduct = (pair.flags() & Command.PRODUCT) != 0;
    float min = Float.intBitsToFloat(pair.min());
    float max = Float.intBitsToFloat(pair.max());
    int to = pair.to();
    for (int row = 0; row < pair.rows(); row++) {
      int a = pair.a() + row * pair.aRow();
      int b = pair.b() + row * pair.bRow();
      for (int i = 0; i < pair.run(); i++) {
        float x = Bytes.halfAt(pad, a + i * pair.aStep());
        float y = Bytes.halfAt(pad, b + i * pair.bStep());
        float value = isProduct ? x * y : x + y;
        Bytes.setHalf(pad, to, Math.min(Math.max(value, min), max));
        to += 2;
      }
    }
  }
}
