// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.simd.kernel.Lanes.BYTES;
import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.operations.IntRange;
import io.thalamus.operations.Pooling.Parameters;
import io.thalamus.simd.compile.Pooling.Windows;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * The mean or the largest of the stored bytes under each window. Immutable and thread-safe.
 *
 * <p>Bytes of both types are made signed first. A mean is counted from the origin of its ties, and
 * half of the cells are added to its sum, away from that. For as many cells as are accepted, the
 * dividend is below 2^24; then the float quotient, rounded once, lies on the same side of every
 * integer as the real one, and cutting its fraction is exact.
 */
public final class StoredPool extends UnitStep {
  /** Cells under a window at most: their sum is below 2^24. */
  static final int MOST_CELLS = 65_000;

  private final boolean isMaximum;
  private final Windows windows;
  private final Tensor output;
  private final int flip;
  private final int origin;
  private final int low;
  private final int high;

  StoredPool(
      boolean isMaximum,
      Windows windows,
      Tensor output,
      Parameters parameters,
      int lines,
      int tiles) {
    super(lines, tiles);
    IntRange range = parameters.stored().orElseThrow();
    this.isMaximum = isMaximum;
    this.windows = windows;
    this.output = output;
    this.flip = output.flip();
    this.origin = parameters.origin() - flip;
    this.low = range.min() - flip;
    this.high = range.max() - flip;
  }

  @Override
  void run(Frame frame, Scratch scratch, int first, int end) {
    byte[] in = frame.bytes(windows.input());
    byte[] out = frame.bytes(output);
    for (int line = first; line < end; line++) {
      for (int x = 0; x < windows.outputWidth(); x++) {
        pixel(frame.isScalar, in, line, x, out, scratch.spareBytes);
      }
    }
  }

  private void pixel(boolean isScalar, byte[] in, int line, int x, byte[] out, byte[] spare) {
    int height = windows.lines(line);
    int width = windows.pixels(x);
    int channels = windows.input().dimension(3);
    int lineSize = windows.input().dimension(2) * channels;
    int from = windows.at(line, x);
    int to = output.offset() + (line * windows.outputWidth() + x) * channels;
    if (isScalar || BYTES == null) {
      scalar(in, from, lineSize, channels, height, width, out, to);
      return;
    }
    int whole = channels / COUNT * COUNT;
    int rest = channels - whole;
    pixel(in, from, whole, lineSize, channels, height, width, out, to);
    if (rest > 0) {
      pixel(in, from + whole, rest, lineSize, channels, height, width, spare, 0);
      System.arraycopy(spare, 0, out, to + whole, rest);
    }
  }

  private void pixel(
      byte[] in,
      int from,
      int count,
      int lineSize,
      int channels,
      int height,
      int width,
      byte[] out,
      int to) {
    if (isMaximum) {
      maximum(in, from, count, lineSize, channels, height, width, out, to);
    } else {
      mean(in, from, count, lineSize, channels, height, width, out, to);
    }
  }

  private void scalar(
      byte[] in, int from, int lineSize, int channels, int height, int width, byte[] out, int to) {
    int cells = height * width;
    for (int c = 0; c < channels; c++) {
      int value = isMaximum ? Byte.MIN_VALUE : -origin * cells;
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          byte next = (byte) (in[from + y * lineSize + x * channels + c] ^ flip);
          value = isMaximum ? Math.max(value, next) : value + next;
        }
      }
      int half = value < 0 ? -(cells / 2) : cells / 2;
      int result = isMaximum ? value : (value + half) / cells + origin;
      out[to + c] = (byte) (Math.clamp(result, low, high) ^ flip);
    }
  }

  private void mean(
      byte[] in,
      int from,
      int count,
      int lineSize,
      int channels,
      int height,
      int width,
      byte[] out,
      int to) {
    int cells = height * width;
    int start = -origin * cells;
    for (int i = 0; i < count; i += COUNT) {
      IntVector sum = IntVector.broadcast(INTS, start);
      for (int y = 0; y < height; y++) {
        int at = from + y * lineSize + i;
        for (int x = 0; x < width; x++) {
          sum =
              sum.add(
                  ByteVector.fromArray(BYTES, in, at + x * channels)
                      .lanewise(VectorOperators.XOR, (byte) flip)
                      .convertShape(VectorOperators.B2I, INTS, 0));
        }
      }
      IntVector signs = sum.lanewise(VectorOperators.ASHR, Integer.SIZE - 1);
      IntVector half = signs.lanewise(VectorOperators.XOR, cells / 2).sub(signs);
      FloatVector mean = ((FloatVector) sum.add(half).convert(VectorOperators.I2F, 0)).div(cells);
      IntVector result =
          ((IntVector) mean.convert(VectorOperators.F2I, 0)).add(origin).max(low).min(high);
      ((ByteVector)
              result
                  .lanewise(VectorOperators.XOR, flip)
                  .convertShape(VectorOperators.I2B, BYTES, 0))
          .intoArray(out, to + i);
    }
  }

  private void maximum(
      byte[] in,
      int from,
      int count,
      int lineSize,
      int channels,
      int height,
      int width,
      byte[] out,
      int to) {
    for (int i = 0; i < count; i += COUNT) {
      ByteVector maximum = ByteVector.broadcast(BYTES, Byte.MIN_VALUE);
      for (int y = 0; y < height; y++) {
        int at = from + y * lineSize + i;
        for (int x = 0; x < width; x++) {
          maximum =
              maximum.max(
                  ByteVector.fromArray(BYTES, in, at + x * channels)
                      .lanewise(VectorOperators.XOR, (byte) flip));
        }
      }
      maximum
          .max((byte) low)
          .min((byte) high)
          .lanewise(VectorOperators.XOR, (byte) flip)
          .intoArray(out, to + i);
    }
  }
}
