// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.operations.Window;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Rows;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Tensor;
import java.util.stream.IntStream;

/**
 * The rows of the left matrix of a convolution: for each output pixel, the input under the filter,
 * tap after tap. Taps beside the input are zero. Immutable.
 *
 * @param source the input, as [batch, height, width, channels]
 * @param height movement along the height
 * @param width movement along the width
 * @param outputHeight pixels of the output along the height
 * @param outputWidth pixels of the output along the width
 * @param firstChannel the first one of the input that the filter sees
 * @param channels of the input that it sees
 */
public record Patches(
    Tensor source,
    Window height,
    Window width,
    int outputHeight,
    int outputWidth,
    int firstChannel,
    int channels) {
  /** The patches of all channels. */
  Patches(Tensor source, Window height, Window width, int outputHeight, int outputWidth) {
    this(source, height, width, outputHeight, outputWidth, 0, source.dimension(3));
  }

  /** Returns those of some channels. */
  Patches of(int firstChannel, int channels) {
    return new Patches(source, height, width, outputHeight, outputWidth, firstChannel, channels);
  }

  /** Rows of the matrix. */
  int rows() {
    return source.dimension(0) * outputHeight * outputWidth;
  }

  /** Columns of the matrix. */
  int columns() {
    return taps() * channels;
  }

  int taps() {
    return height.size() * width.size();
  }

  /**
   * Returns the cuts of the depth into parts that are copied and multiplied one after the other: 0,
   * bounds, the depth. Whole taps, or where a tap is longer than a part, even pieces of its
   * channels.
   */
  int[] parts() {
    IntStream.Builder bounds = IntStream.builder();
    if (channels <= Rows.LONGEST) {
      int parts = Math.ceilDiv(taps(), Rows.LONGEST / channels);
      int taps = Math.ceilDiv(taps(), parts);
      for (int tap = 0; tap < taps(); tap += taps) {
        bounds.add(tap * channels);
      }
    } else {
      int piece = piece(channels);
      for (int tap = 0; tap < taps(); tap++) {
        for (int channel = 0; channel < channels; channel += piece) {
          bounds.add(tap * channels + channel);
        }
      }
    }
    return bounds.add(columns()).build().toArray();
  }

  /** The length of the pieces into which a tap of many channels is cut. */
  static int piece(int channels) {
    return Lanes.roundUp(Math.ceilDiv(channels, Math.ceilDiv(channels, Rows.LONGEST)));
  }

  /**
   * Copies a range of columns of some rows: whole taps, or channels of a single one.
   *
   * <p>Line by line of the filter, and within it pixel by pixel: short runs are copied as whole
   * vectors, and what is written behind a run belongs to the next line, which is copied later, or
   * to nothing.
   *
   * @param frame holds the input
   * @param firstRow of the matrix
   * @param count of rows
   * @param first column
   * @param end one behind the last column
   * @param out receives the rows {@link Rows#DISTANCE} apart, at {@code to}
   */
  void copy(Frame frame, int firstRow, int count, int first, int end, float[] out, int to) {
    int x = firstRow % outputWidth;
    int y = firstRow / outputWidth % outputHeight;
    int batch = firstRow / outputWidth / outputHeight;
    for (int i = 0; i < count; ) {
      int pixels = Math.min(count - i, outputWidth - x);
      copyPixels(frame, batch, y, x, pixels, first, end, out, to + i * Rows.DISTANCE);
      i += pixels;
      x = 0;
      if (++y == outputHeight) {
        y = 0;
        batch++;
      }
    }
  }

  /** Copies the patches of neighbouring pixels of one line of the output. */
  private void copyPixels(
      Frame frame, int batch, int y, int x, int pixels, int first, int end, float[] out, int to) {
    int pixel = source.dimension(3);
    int tap = first / channels;
    int taps = (end - 1) / channels + 1 - tap;
    int channel = firstChannel + (taps == 1 ? first % channels : 0);
    int copied = taps == 1 ? end - first : channels;
    int at = to;
    while (taps > 0) {
      int tapX = tap % width.size();
      int run = Math.min(taps, width.size() - tapX);
      int line = height.cell(y, tap / width.size());
      int left = width.cell(x, tapX);
      int lineAt =
          line < 0 || line >= source.dimension(1)
              ? -1
              : source.offset()
                  + (batch * source.dimension(1) + line) * source.dimension(2) * pixel
                  + channel;
      if (width.dilation() == 1 && copied == pixel) {
        copyRuns(frame, lineAt, left, run, run * channels, pixels, out, at);
      } else {
        for (int i = 0; i < run; i++) {
          int from = left + i * width.dilation();
          copyRuns(frame, lineAt, from, 1, copied, pixels, out, at + i * copied);
        }
      }
      at += run * copied;
      tap += run;
      taps -= run;
    }
  }

  /**
   * Copies neighbouring taps of one line of the filter, for neighbouring pixels.
   *
   * @param lineAt where the line of the input begins, or -1 where it is beside the input
   * @param first position of the first tap of the first pixel, which may be beside the line
   * @param taps how many
   * @param length elements that the taps have together
   */
  private void copyRuns(
      Frame frame, int lineAt, int first, int taps, int length, int pixels, float[] out, int to) {
    int distance = Rows.DISTANCE;
    int stride = width.stride();
    int inputWidth = source.dimension(2);
    if (lineAt < 0) {
      for (int i = 0; i < pixels; i++) {
        fill(out, to + i * distance, length);
      }
      return;
    }
    // Pixels whose taps are all on the line, from one on to before another.
    int begin = Math.clamp((-first + stride - 1) / stride, 0, pixels);
    int room = inputWidth - taps - first;
    int end = room < 0 ? begin : Math.clamp(room / stride + 1, begin, pixels);
    for (int i = 0; i < begin; i++) {
      copyEdge(frame, lineAt, first + i * stride, taps, length, out, to + i * distance);
    }
    int pixel = source.dimension(3);
    int from = lineAt + (first + begin * stride) * pixel;
    int step = stride * pixel;
    int inside = to + begin * distance;
    copyRuns(frame, source, from, step, out, inside, distance, length, end - begin);
    for (int i = end; i < pixels; i++) {
      copyEdge(frame, lineAt, first + i * stride, taps, length, out, to + i * distance);
    }
  }

  /** Copies taps of which some may be beside the line. */
  private void copyEdge(
      Frame frame, int lineAt, int first, int taps, int length, float[] out, int to) {
    int pixel = source.dimension(3);
    int each = length / taps;
    for (int tap = 0; tap < taps; tap++) {
      int x = first + tap;
      int at = to + tap * each;
      if (x < 0 || x >= source.dimension(2)) {
        fill(out, at, each);
      } else {
        copyRuns(frame, source, lineAt + x * pixel, 0, out, at, 0, each, 1);
      }
    }
  }

  /**
   * Copies runs of elements, as floats less the zero point. May read and write up to a vector
   * behind each run.
   */
  static void copyRuns(
      Frame frame,
      Tensor source,
      int from,
      int step,
      float[] out,
      int to,
      int distance,
      int length,
      int count) {
    boolean isScalar = frame.isScalar;
    if (source.isFloat()) {
      Lanes.copyRuns(isScalar, frame.floats(source), from, step, out, to, distance, length, count);
    } else {
      Lanes.toFloatRuns(
          isScalar,
          frame.bytes(source),
          from,
          step,
          source.flip(),
          source.signedZeroPoint(),
          out,
          to,
          distance,
          length,
          count);
    }
  }

  private static void fill(float[] out, int from, int count) {
    for (int i = 0; i < count; i++) {
      out[from + i] = 0;
    }
  }
}
