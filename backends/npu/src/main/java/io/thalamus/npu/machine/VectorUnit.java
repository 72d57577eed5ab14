// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.command.Command.Factor;
import io.thalamus.npu.command.Command.Lookup;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.command.Command.Window;
import io.thalamus.operations.FixedPoint;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.Softmax.StoredScores;
import java.util.Arrays;

/**
 * The vector unit on 8-bit types, by the rules of {@code docs/internals/quantization.md}.
 * Stateless; commands have been checked.
 */
final class VectorUnit {
  private VectorUnit() {}

  static void depthwise(Depthwise product, Sram memory) {
    Window window = product.window();
    int channels = window.channels() * product.multiplier();
    int[] sums = memory.sums;
    int at = product.accumulators();
    for (int y = 0; y < window.output().height(); y++) {
      for (int x = 0; x < window.output().width(); x++) {
        if (!window.has(Command.ACCUMULATE)) {
          Arrays.fill(sums, at, at + channels, 0);
        }
        int from =
            window.input()
                + y * window.stride().height() * window.inputRow()
                + x * window.stride().width() * window.inputPixel();
        addWindow(product, memory, from, at);
        at += channels;
      }
    }
  }

  private static void addWindow(Depthwise product, Sram memory, int from, int at) {
    Window window = product.window();
    int channels = window.channels();
    int multiplier = product.multiplier();
    byte[] pad = memory.scratchpad;
    int[] sums = memory.sums;
    int turn = window.has(Command.UNSIGNED) ? 0x80 : 0;
    int inputZero = product.inputZero() - turn;
    int weightZero = product.weightZero();
    int weight = product.weights();
    for (int ky = 0; ky < window.kernel().height(); ky++) {
      for (int kx = 0; kx < window.kernel().width(); kx++) {
        int input =
            from
                + ky * window.dilation().height() * window.inputRow()
                + kx * window.dilation().width() * window.inputPixel();
        if (multiplier == 1) {
          for (int c = 0; c < channels; c++) {
            sums[at + c] +=
                ((byte) (pad[input + c] ^ turn) - inputZero) * (pad[weight + c] - weightZero);
          }
        } else {
          for (int c = 0; c < channels; c++) {
            int value = (byte) (pad[input + c] ^ turn) - inputZero;
            for (int j = 0; j < multiplier; j++) {
              int out = c * multiplier + j;
              sums[at + out] += value * (pad[weight + out] - weightZero);
            }
          }
        }
        weight += channels * multiplier;
      }
    }
  }

  static void requantize(Requantize results, Sram memory) {
    byte[] pad = memory.scratchpad;
    int[] sums = memory.sums;
    boolean once = (results.flags() & Command.ROUND_ONCE) != 0;
    boolean toEven = (results.flags() & Command.ROUND_TO_EVEN) != 0;
    int zero = results.zero();
    int min = results.min();
    int max = results.max();
    for (int c = 0; c < results.channels(); c++) {
      int entry = results.table() + c * Footprint.TABLE_ENTRY;
      int bias = Bytes.intAt(pad, entry);
      int factor = Bytes.intAt(pad, entry + 4);
      int shift = Bytes.intAt(pad, entry + 8);
      Requantization even = new Requantization(factor, shift, Rounding.EVEN);
      int from = results.accumulators() + c * results.channelStride();
      int to = results.to() + c;
      for (int i = 0; i < results.pixels(); i++) {
        int sum = sums[from + i * results.pixelStride()] + bias;
        int scaled =
            toEven
                ? even.apply(sum)
                : once ? scaleOnce(sum, factor, shift) : scale(sum, factor, shift);
        int value = scaled + zero;
        pad[to + i * results.toPixel()] = (byte) Math.min(Math.max(value, min), max);
      }
    }
  }

  /** {@code Requantization.apply} with two roundings. */
  private static int scale(int value, int factor, int shift) {
    int high = FixedPoint.saturatingRoundingDoublingHighMul(value << Math.max(shift, 0), factor);
    return FixedPoint.roundingDivideByPowerOfTwo(high, Math.max(-shift, 0));
  }

  /** {@code Requantization.apply} with one rounding. */
  private static int scaleOnce(int value, int factor, int shift) {
    int total = 31 - shift;
    return (int) (((long) value * factor + (1L << (total - 1))) >> total);
  }

  static void elementwise(Elementwise pair, Sram memory) {
    byte[] pad = memory.scratchpad;
    int[] tables = memory.tables;
    boolean isProduct = (pair.flags() & Command.PRODUCT) != 0;
    boolean isUnsigned = (pair.flags() & Command.UNSIGNED) != 0;
    fill(tables, 0, isUnsigned, pair.aZero(), isProduct ? null : pair.aFactor(), pair.leftShift());
    fill(
        tables,
        Footprint.TABLE,
        isUnsigned,
        pair.bZero(),
        isProduct ? null : pair.bFactor(),
        pair.leftShift());
    int to = pair.to();
    for (int row = 0; row < pair.rows(); row++) {
      int a = pair.a() + row * pair.aRow();
      int b = pair.b() + row * pair.bRow();
      for (int i = 0; i < pair.run(); i++) {
        int x = tables[pad[a + i * pair.aStep()] & 0xFF];
        int y = tables[Footprint.TABLE + (pad[b + i * pair.bStep()] & 0xFF)];
        int value =
            scale(isProduct ? x * y : x + y, pair.factor().mantissa(), pair.factor().shift())
                + pair.zero();
        pad[to++] = (byte) Math.min(Math.max(value, pair.min()), pair.max());
      }
    }
  }

  /** Returns the meaning of each stored value of an operand in the common scale. */
  private static void fill(
      int[] tables, int at, boolean isUnsigned, int zero, Factor factor, int leftShift) {
    for (int i = 0; i < Footprint.TABLE; i++) {
      int value = (isUnsigned ? i : (byte) i) - zero;
      tables[at + i] =
          factor == null ? value : scale(value << leftShift, factor.mantissa(), factor.shift());
    }
  }

  static void lookup(Lookup lookup, Sram memory) {
    byte[] pad = memory.scratchpad;
    for (int i = 0; i < lookup.count(); i++) {
      pad[lookup.to() + i] = pad[lookup.table() + (pad[lookup.from() + i] & 0xFF)];
    }
  }

  static void softmax(Softmax softmax, Sram memory) {
    byte[] pad = memory.scratchpad;
    int[] exponentials = memory.tables;
    for (int i = 0; i < Footprint.TABLE; i++) {
      exponentials[i] = Bytes.intAt(pad, softmax.table() + i * Integer.BYTES);
    }
    int turn = (softmax.flags() & Command.UNSIGNED) != 0 ? 0 : 0x80;
    int largest = turn == 0 ? 0xFF : Byte.MAX_VALUE;
    for (int row = 0; row < softmax.rows(); row++) {
      int from = softmax.from() + row * softmax.depth();
      int to = softmax.to() + row * softmax.depth();
      probabilities(softmax, pad, exponentials, from, to, turn, largest);
    }
  }

  /** Stored scores with the highest bit of signed ones turned are ordered as unsigned. */
  private static void probabilities(
      Softmax softmax, byte[] pad, int[] exponentials, int from, int to, int turn, int largest) {
    int max = 0;
    for (int i = 0; i < softmax.depth(); i++) {
      max = Math.max(max, (pad[from + i] & 0xFF) ^ turn);
    }
    long sum = 0;
    for (int i = 0; i < softmax.depth(); i++) {
      int below = max - ((pad[from + i] & 0xFF) ^ turn);
      sum += StoredScores.term(exponentials[below]);
    }
    int reciprocal = StoredScores.reciprocal(sum);
    int shift = StoredScores.shift(sum);
    for (int i = 0; i < softmax.depth(); i++) {
      // Where results stand upon scores, a score may have been overwritten by a larger one.
      int below = max - ((pad[from + i] & 0xFF) ^ turn) & 0xFF;
      int probability = StoredScores.probability(exponentials[below], reciprocal, shift);
      pad[to + i] = (byte) Math.min(probability + softmax.zero(), largest);
    }
  }
}
