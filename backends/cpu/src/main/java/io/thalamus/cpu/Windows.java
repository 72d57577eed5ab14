// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Shape;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.Window;

/**
 * The positions of a two-dimensional window over a four-dimensional tensor, one for each element of
 * the output, and at each the cells of the input that have a part in it.
 */
final class Windows {
  private final Window height;
  private final Window width;
  private final DataLayout layout;
  private final Shape input;
  private final Shape output;
  private final boolean isTransposed;
  private final Index4 inputs;
  private final Index4 outputs;

  private Windows(
      DataLayout layout,
      Window height,
      Window width,
      Shape input,
      Shape output,
      boolean isTransposed) {
    this.height = height;
    this.width = width;
    this.layout = layout;
    this.input = input;
    this.output = output;
    this.isTransposed = isTransposed;
    this.inputs = new Index4(layout, input);
    this.outputs = new Index4(layout, output);
  }

  /** Windows that move over the input, each giving one output. */
  static Windows over(DataLayout layout, Window height, Window width, Shape input, Shape output) {
    return new Windows(layout, height, width, input, output, false);
  }

  /** Windows that move over the output, each spreading one input; seen from the outputs. */
  static Windows transposed(
      DataLayout layout, Window height, Window width, Shape input, Shape output) {
    return new Windows(layout, height, width, input, output, true);
  }

  /** Receives a position and the index of the output's element there. */
  @FunctionalInterface
  interface Visitor {
    void visit(Position at, long result);
  }

  /** Visits all positions; the same object is moved from one to the next. */
  void forEach(WorkMeter work, Visitor visitor) {
    Position at = new Position(work);
    for (int batch = 0; batch < output.dimension(0); batch++) {
      for (int y = 0; y < layout.height(output); y++) {
        for (int x = 0; x < layout.width(output); x++) {
          at.moveTo(batch, y, x);
          for (int channel = 0; channel < layout.channels(output); channel++) {
            at.channel = channel;
            work.done(1);
            visitor.visit(at, outputs.of(batch, y, x, channel));
          }
        }
      }
    }
  }

  /** Returns the distance of one input channel from the next, in elements. */
  long channelStride() {
    return inputs.channelStride();
  }

  private Axis axis(Window window, int size) {
    return isTransposed ? new Backward(window, size) : new Forward(window, size);
  }

  /** One position: a range of rows and one of columns, and what they mean. */
  final class Position {
    private final Axis y = axis(height, layout.height(input));
    private final Axis x = axis(width, layout.width(input));
    private final WorkMeter work;
    private int batch;
    private int channel;

    private Position(WorkMeter work) {
      this.work = work;
    }

    private void moveTo(int b, int row, int column) {
      batch = b;
      y.moveTo(row);
      x.moveTo(column);
    }

    /** The output's channel. */
    int channel() {
      return channel;
    }

    /** The first row. */
    int firstY() {
      return y.first;
    }

    /** One behind the last row. */
    int endY() {
      return y.end;
    }

    /** Says that all cells of a row come next, each with this much work. */
    void startRow(long workOfCell) {
      work.done((x.end - x.first) * workOfCell);
    }

    /** The first column. */
    int firstX() {
      return x.first;
    }

    /** One behind the last column. */
    int endX() {
      return x.end;
    }

    /** The number of cells: rows times columns. */
    int cells() {
      return (y.end - y.first) * (x.end - x.first);
    }

    /** The index of the input's element in a row and a column. */
    long input(int row, int column, int inputChannel) {
      return inputs.of(batch, y.input(row), x.input(column), inputChannel);
    }

    /** The filter's row for a row. */
    int filterY(int row) {
      return y.filter(row);
    }

    /** The filter's column for a column. */
    int filterX(int column) {
      return x.filter(column);
    }
  }

  /** The cells of a position along one axis, in the order of the input. */
  private abstract static class Axis {
    final Window window;
    final int size;
    int position;
    int first;
    int end;

    Axis(Window window, int size) {
      this.window = window;
      this.size = size;
    }

    abstract void moveTo(int next);

    abstract int input(int cell);

    abstract int filter(int cell);
  }

  /** Cells are those of the window that lie on the input. */
  private static final class Forward extends Axis {
    Forward(Window window, int size) {
      super(window, size);
    }

    @Override
    void moveTo(int next) {
      position = next;
      first = window.firstTap(next);
      end = window.endTap(next, size);
    }

    @Override
    int input(int cell) {
      return window.cell(position, cell);
    }

    @Override
    int filter(int cell) {
      return cell;
    }
  }

  /** Cells are those of the input whose windows reach the output. */
  private static final class Backward extends Axis {
    Backward(Window window, int size) {
      super(window, size);
    }

    @Override
    void moveTo(int next) {
      position = next + window.before();
      first = Math.max(0, Math.ceilDiv(position - window.size() + 1, window.stride()));
      end = Math.min(size, position / window.stride() + 1);
    }

    @Override
    int input(int cell) {
      return cell;
    }

    @Override
    int filter(int cell) {
      return position - cell * window.stride();
    }
  }
}
