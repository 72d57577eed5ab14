// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.Window;

/**
 * The positions of a two-dimensional window over a four-dimensional tensor, one for each element of
 * the output, and at each the window's cells that lie on the input.
 */
final class Windows {
  private final Window height;
  private final Window width;
  private final DataLayout layout;
  private final Shape input;
  private final Shape output;
  private final Index4 inputs;
  private final Index4 outputs;

  Windows(DataLayout layout, Window height, Window width, Shape input, Shape output) {
    this.height = height;
    this.width = width;
    this.layout = layout;
    this.input = input;
    this.output = output;
    this.inputs = new Index4(layout, input);
    this.outputs = new Index4(layout, output);
  }

  /** Receives a position and the index of the output's element there. */
  @FunctionalInterface
  interface Visitor {
    void visit(Position at, long result);
  }

  /** Visits all positions; the same object is moved from one to the next. */
  void forEach(Visitor visitor) {
    Position at = new Position();
    for (int batch = 0; batch < output.dimension(0); batch++) {
      for (int y = 0; y < layout.height(output); y++) {
        for (int x = 0; x < layout.width(output); x++) {
          for (int channel = 0; channel < layout.channels(output); channel++) {
            at.moveTo(batch, y, x, channel);
            visitor.visit(at, outputs.of(batch, y, x, channel));
          }
        }
      }
    }
  }

  /** How far one input channel is from the next, in elements. */
  long channelStride() {
    return inputs.channelStride();
  }

  /** One position of the window. */
  final class Position {
    private int batch;
    private int channel;
    private int originY;
    private int originX;
    private int firstY;
    private int endY;
    private int firstX;
    private int endX;

    private void moveTo(int b, int y, int x, int c) {
      batch = b;
      channel = c;
      originY = y * height.stride() - height.before();
      originX = x * width.stride() - width.before();
      firstY = first(originY, height);
      endY = end(originY, height, layout.height(input));
      firstX = first(originX, width);
      endX = end(originX, width, layout.width(input));
    }

    /** The first cell, counted from the window's origin, that is not in front of the input. */
    private static int first(int origin, Window window) {
      return origin >= 0 ? 0 : Math.ceilDiv(-origin, window.dilation());
    }

    /** One behind the last cell that is not behind the input. */
    private static int end(int origin, Window window, int size) {
      return Math.min(window.size(), Math.ceilDiv(size - origin, window.dilation()));
    }

    /** The output's channel. */
    int channel() {
      return channel;
    }

    /** The first row of the window that lies on the input. */
    int firstY() {
      return firstY;
    }

    /** One behind the last row of the window that lies on the input. */
    int endY() {
      return endY;
    }

    /** The first column of the window that lies on the input. */
    int firstX() {
      return firstX;
    }

    /** One behind the last column of the window that lies on the input. */
    int endX() {
      return endX;
    }

    /** The number of cells that lie on the input. */
    int cells() {
      return (endY - firstY) * (endX - firstX);
    }

    /** The index of the input's element under a cell of the window. */
    long input(int cellY, int cellX, int inputChannel) {
      return inputs.of(
          batch,
          originY + cellY * height.dilation(),
          originX + cellX * width.dilation(),
          inputChannel);
    }
  }
}
