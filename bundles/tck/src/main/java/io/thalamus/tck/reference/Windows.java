// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

/**
 * The two windows of convolutions and pools, as their arguments give them.
 *
 * @param vertical along the height
 * @param horizontal along the width
 * @param next the index of the argument behind the strides
 */
record Windows(Line vertical, Line horizontal, int next) {
  private static final int SAME = 1;

  /**
   * One window along one axis.
   *
   * @param out how many positions it has
   * @param before how many cells of padding are in front
   */
  record Line(int filter, int stride, int dilation, int before, int out) {
    Line {
      if (out < 1) {
        throw new IllegalArgumentException("the window fits nowhere");
      }
    }

    /** The cell under one tap of the window; may lie in the padding. */
    int cell(int position, int tap) {
      return position * stride + tap * dilation - before;
    }

    static Line of(int in, int filter, int stride, int dilation, int before, int after) {
      int effective = (filter - 1) * dilation + 1;
      int room = in + before + after - effective;
      return new Line(filter, stride, dilation, before, Math.floorDiv(room, stride) + 1);
    }

    static Line of(int in, int filter, int stride, int dilation, int scheme) {
      int effective = (filter - 1) * dilation + 1;
      if (scheme == SAME) {
        int out = Math.ceilDiv(in, stride);
        int all = Math.max(0, (out - 1) * stride + effective - in);
        return new Line(filter, stride, dilation, all / 2, out);
      }
      return of(in, filter, stride, dilation, 0, 0);
    }
  }

  /**
   * Reads the paddings and strides that stand from {@code first} on.
   *
   * @param explicit whether four paddings stand there, or a scheme
   */
  static Windows read(
      Call call,
      int first,
      boolean explicit,
      Image in,
      int filterHeight,
      int filterWidth,
      int dilationHeight,
      int dilationWidth) {
    if (explicit) {
      int strideWidth = call.int32(first + 4);
      int strideHeight = call.int32(first + 5);
      return new Windows(
          Line.of(
              in.height(),
              filterHeight,
              strideHeight,
              dilationHeight,
              call.int32(first + 2),
              call.int32(first + 3)),
          Line.of(
              in.width(),
              filterWidth,
              strideWidth,
              dilationWidth,
              call.int32(first),
              call.int32(first + 1)),
          first + 6);
    }
    int scheme = call.int32(first);
    return new Windows(
        Line.of(in.height(), filterHeight, call.int32(first + 2), dilationHeight, scheme),
        Line.of(in.width(), filterWidth, call.int32(first + 1), dilationWidth, scheme),
        first + 3);
  }
}
