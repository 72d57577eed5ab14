// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.operations.Window;

/**
 * The rows of the left matrix of a convolution: for each output pixel, the input under the filter,
 * tap after tap. Taps beside the input are zero. Immutable.
 *
 * @param source the input, as [batch, height, width, channels]
 * @param height movement along the height
 * @param width movement along the width
 * @param outputHeight pixels of the output along the height
 * @param outputWidth pixels of the output along the width
 */
record Patches(Tensor source, Window height, Window width, int outputHeight, int outputWidth) {
  /** Rows of the matrix. */
  int rows() {
    return source.dimension(0) * outputHeight * outputWidth;
  }

  /** Columns of the matrix. */
  int columns() {
    return taps() * channels();
  }

  int taps() {
    return height.size() * width.size();
  }

  int channels() {
    return source.dimension(3);
  }

  /** Whether the rows of the matrix stand one after the other in the input itself. */
  boolean areInput() {
    return taps() == 1
        && height.stride() == 1
        && width.stride() == 1
        && height.before() + height.after() + width.before() + width.after() == 0;
  }

  /**
   * Copies a range of columns of some rows: whole taps, or channels of a single one.
   *
   * @param frame holds the input
   * @param firstRow of the matrix
   * @param count of rows
   * @param first column
   * @param end one behind the last column
   * @param out receives the rows without gaps, at {@code to}
   */
  void copy(Frame frame, int firstRow, int count, int first, int end, float[] out, int to) {
    int firstTap = first / channels();
    int endTap = (end - 1) / channels() + 1;
    int firstChannel = first % channels();
    int endChannel = end - (endTap - 1) * channels();
    for (int i = 0; i < count; i++) {
      int at = to + i * (end - first);
      if (endTap - firstTap == 1) {
        copyTap(frame, firstRow + i, firstTap, firstChannel, endChannel, out, at);
      } else {
        copyRow(frame, firstRow + i, firstTap, endTap, out, at);
      }
    }
  }

  private void copyTap(
      Frame frame, int row, int tap, int firstChannel, int endChannel, float[] out, int to) {
    int x = row % outputWidth * width.stride() - width.before();
    int inputX = x + tap % width.size() * width.dilation();
    int inputY = originY(row) + tap / width.size() * height.dilation();
    if (isOutside(inputY, 1) || isOutside(inputX, 2)) {
      fill(out, to, endChannel - firstChannel);
    } else {
      int pixel = line(row, inputY) * source.dimension(2) + inputX;
      copy(
          frame,
          source.offset() + pixel * channels() + firstChannel,
          endChannel - firstChannel,
          out,
          to);
    }
  }

  private void copyRow(Frame frame, int row, int firstTap, int endTap, float[] out, int to) {
    int originX = row % outputWidth * width.stride() - width.before();
    int originY = originY(row);
    int at = to;
    for (int tap = firstTap; tap < endTap; ) {
      int tapX = tap % width.size();
      int endX = Math.min(width.size(), tapX + endTap - tap);
      int inputY = originY + tap / width.size() * height.dilation();
      if (isOutside(inputY, 1)) {
        fill(out, at, (endX - tapX) * channels());
      } else {
        copyLine(frame, line(row, inputY), originX, tapX, endX, out, at);
      }
      at += (endX - tapX) * channels();
      tap += endX - tapX;
    }
  }

  private int originY(int row) {
    return row / outputWidth % outputHeight * height.stride() - height.before();
  }

  /** The number of a line of the input, over all batches. */
  private int line(int row, int inputY) {
    return row / (outputWidth * outputHeight) * source.dimension(1) + inputY;
  }

  private boolean isOutside(int position, int axis) {
    return position < 0 || position >= source.dimension(axis);
  }

  /** Copies neighbouring taps of one line of the input. */
  private void copyLine(
      Frame frame, int line, int originX, int firstTap, int endTap, float[] out, int to) {
    int channels = channels();
    int inputWidth = source.dimension(2);
    int lineAt = source.offset() + line * inputWidth * channels;
    if (width.dilation() == 1) {
      int first = originX + firstTap;
      int end = originX + endTap;
      int firstInside = Math.clamp(first, 0, inputWidth);
      int endInside = Math.clamp(end, firstInside, inputWidth);
      int before = Math.clamp(firstInside - first, 0, end - first) * channels;
      int inside = (endInside - firstInside) * channels;
      fill(out, to, before);
      copy(frame, lineAt + firstInside * channels, inside, out, to + before);
      fill(out, to + before + inside, (end - first) * channels - before - inside);
    } else {
      for (int tap = firstTap; tap < endTap; tap++) {
        int x = originX + tap * width.dilation();
        int at = to + (tap - firstTap) * channels;
        if (x < 0 || x >= inputWidth) {
          fill(out, at, channels);
        } else {
          copy(frame, lineAt + x * channels, channels, out, at);
        }
      }
    }
  }

  private void copy(Frame frame, int from, int count, float[] out, int to) {
    if (source.isFloat()) {
      System.arraycopy(frame.floats, from, out, to, count);
    } else {
      Lanes.toFloats(frame.bytes, from, source.flip(), source.signedZeroPoint(), out, to, count);
    }
  }

  private static void fill(float[] out, int from, int count) {
    for (int i = 0; i < count; i++) {
      out[from + i] = 0;
    }
  }
}
