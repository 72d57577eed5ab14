// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Accumulation;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.MemorySegment;

/** Convolutions over two spatial axes. */
final class Convolution {
  private Convolution() {}

  static void register(KernelTable.Builder table) {
    table
        .add(
            OperationCode.CONV_2D,
            operation -> floating(operation, Grid.conv2d(operation)),
            TENSOR_FLOAT32,
            TENSOR_FLOAT16)
        .add(
            OperationCode.CONV_2D,
            operation -> quantized(operation, Grid.conv2d(operation)),
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED)
        .add(
            OperationCode.DEPTHWISE_CONV_2D,
            operation -> floating(operation, Grid.depthwise(operation)),
            TENSOR_FLOAT32,
            TENSOR_FLOAT16)
        .add(
            OperationCode.DEPTHWISE_CONV_2D,
            operation -> quantized(operation, Grid.depthwise(operation)),
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED);
  }

  private static Kernel floating(ResolvedOperation operation, Grid grid) {
    FloatElements elements = FloatElements.of(operation.view().output().type());
    FloatRange range = operation.parameters(Parameters.class).activation().range();
    return (inputs, outputs, scratch) ->
        grid.forEach(
            (cell, result) -> {
              float sum = 0;
              for (int y = cell.firstY(); y < cell.lastY(); y++) {
                for (int x = cell.firstX(); x < cell.lastX(); x++) {
                  for (int c = 0; c < grid.taps; c++) {
                    sum +=
                        elements.get(inputs[0], cell.input(y, x, c))
                            * elements.get(inputs[1], cell.filter(y, x, c));
                  }
                }
              }
              sum += elements.get(inputs[2], cell.channel());
              elements.set(outputs[0], result, range.clamp(sum));
            });
  }

  private static Kernel quantized(ResolvedOperation operation, Grid grid) {
    Accumulation accumulation = operation.parameters(Parameters.class).quantized().orElseThrow();
    IntElements elements = IntElements.of(operation.view().output().type());
    IntElements weights = IntElements.of(operation.view().input(1).type());
    int inputZeroPoint = accumulation.inputZeroPoint();
    int filterZeroPoint = accumulation.filterZeroPoint();
    return (inputs, outputs, scratch) ->
        grid.forEach(
            (cell, result) -> {
              int sum = IntElements.SIGNED32.get(inputs[2], cell.channel());
              MemorySegment data = inputs[0];
              MemorySegment filter = inputs[1];
              for (int y = cell.firstY(); y < cell.lastY(); y++) {
                for (int x = cell.firstX(); x < cell.lastX(); x++) {
                  for (int c = 0; c < grid.taps; c++) {
                    sum +=
                        (elements.get(data, cell.input(y, x, c)) - inputZeroPoint)
                            * (weights.get(filter, cell.filter(y, x, c)) - filterZeroPoint);
                  }
                }
              }
              int stored =
                  accumulation.output().get(cell.channel()).apply(sum)
                      + accumulation.outputZeroPoint();
              elements.set(outputs[0], result, accumulation.activation().clamp(stored));
            });
  }

  /** Which inputs and weights make up each output. */
  private static final class Grid {
    private final Parameters parameters;
    private final Shape input;
    private final Shape output;
    private final Shape filter;
    private final boolean depthwise;

    /** Input channels that go into one output. */
    private final int taps;

    private Grid(ResolvedOperation operation, boolean depthwise) {
      this.parameters = operation.parameters(Parameters.class);
      this.input = operation.inputShape(0);
      this.filter = operation.inputShape(1);
      this.output = operation.outputShape(0);
      this.depthwise = depthwise;
      this.taps = depthwise ? 1 : filter.dimension(3);
    }

    static Grid conv2d(ResolvedOperation operation) {
      return new Grid(operation, false);
    }

    static Grid depthwise(ResolvedOperation operation) {
      return new Grid(operation, true);
    }

    /** Receives an output's cell and the index of its element. */
    @FunctionalInterface
    interface Visitor {
      void visit(Cell cell, long result);
    }

    void forEach(Visitor visitor) {
      Index4 results = new Index4(parameters.layout(), output);
      Cell cell = new Cell(this);
      for (int b = 0; b < output.dimension(0); b++) {
        for (int y = 0; y < parameters.layout().height(output); y++) {
          for (int x = 0; x < parameters.layout().width(output); x++) {
            for (int c = 0; c < parameters.layout().channels(output); c++) {
              cell.moveTo(b, y, x, c);
              visitor.visit(cell, results.of(b, y, x, c));
            }
          }
        }
      }
    }
  }

  /** One output: the filter's window over the input, cut at the borders. */
  private static final class Cell {
    private final Grid grid;
    private final Index4 inputs;
    private int batch;
    private int channel;
    private int originY;
    private int originX;

    Cell(Grid grid) {
      this.grid = grid;
      this.inputs = new Index4(grid.parameters.layout(), grid.input);
    }

    void moveTo(int b, int y, int x, int c) {
      batch = b;
      channel = c;
      originY = y * grid.parameters.height().stride() - grid.parameters.height().before();
      originX = x * grid.parameters.width().stride() - grid.parameters.width().before();
    }

    int channel() {
      return channel;
    }

    int firstY() {
      return Spans.first(originY, grid.parameters.height());
    }

    int lastY() {
      return Spans.last(
          originY, grid.parameters.height(), grid.parameters.layout().height(grid.input));
    }

    int firstX() {
      return Spans.first(originX, grid.parameters.width());
    }

    int lastX() {
      return Spans.last(
          originX, grid.parameters.width(), grid.parameters.layout().width(grid.input));
    }

    long input(int tapY, int tapX, int tap) {
      int c = grid.depthwise ? channel / grid.parameters.depthMultiplier() : tap;
      return inputs.of(
          batch,
          originY + tapY * grid.parameters.height().dilation(),
          originX + tapX * grid.parameters.width().dilation(),
          c);
    }

    long filter(int tapY, int tapX, int tap) {
      long width = grid.filter.dimension(2);
      long depth = grid.filter.dimension(3);
      return grid.depthwise
          ? (tapY * width + tapX) * depth + channel
          : ((channel * (long) grid.filter.dimension(1) + tapY) * width + tapX) * depth + tap;
    }
  }
}
