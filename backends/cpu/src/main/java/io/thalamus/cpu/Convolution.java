// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.ValueLayout;
import java.util.function.Function;

/**
 * Convolutions over two spatial axes. Inputs and weights are first widened to float, or to int less
 * their zero points, so that one loop serves all types; it adds in the order of the input's rows,
 * columns, channels, and the bias last, as TensorFlow Lite's reference does.
 */
final class Convolution {
  private Convolution() {}

  static void register(KernelTable.Builder table) {
    register(table, OperationCode.CONV_2D, Filter::outermost, Windows::over);
    register(table, OperationCode.DEPTHWISE_CONV_2D, Filter::innermost, Windows::over);
    register(table, OperationCode.GROUPED_CONV_2D, Filter::outermost, Windows::over);
    register(table, OperationCode.TRANSPOSE_CONV_2D, Filter::outermost, Windows::transposed);
    quantized(table, ThalamusExtension.CONV_2D, Filter::outermost, Windows::over);
    quantized(table, ThalamusExtension.DEPTHWISE_CONV_2D, Filter::innermost, Windows::over);
    quantized(table, ThalamusExtension.GROUPED_CONV_2D, Filter::outermost, Windows::over);
  }

  private static void register(
      KernelTable.Builder table,
      OperationCode code,
      Function<ResolvedOperation, Filter> filter,
      Movement movement) {
    table.floats(
        code,
        operation -> floating(operation, filter.apply(operation), windows(operation, movement)));
    quantized(table, code, filter, movement);
  }

  private static void quantized(
      KernelTable.Builder table,
      OperationType code,
      Function<ResolvedOperation, Filter> filter,
      Movement movement) {
    table.quantized8(
        code,
        operation -> quantized(operation, filter.apply(operation), windows(operation, movement)));
  }

  /** The side that windows move over: the input or the output. */
  @FunctionalInterface
  private interface Movement {
    Windows of(DataLayout layout, Window height, Window width, Shape input, Shape output);
  }

  private static Windows windows(ResolvedOperation operation, Movement movement) {
    Parameters parameters = operation.parameters(Parameters.class);
    return movement.of(
        parameters.layout(),
        parameters.height(),
        parameters.width(),
        operation.inputShape(0),
        operation.outputShape(0));
  }

  private static Kernel floating(ResolvedOperation operation, Filter filter, Windows windows) {
    Elements elements = Elements.of(operation.view().output().type());
    FloatRange range = operation.parameters(Parameters.class).activation().range();
    long inputs = operation.inputShape(0).elementCount();
    long weights = operation.inputShape(1).elementCount();
    long step = windows.channelStride();
    Kernel kernel =
        (in, out, scratch, work) -> {
          Widening.floats(work, elements, in[0], inputs, scratch, 0);
          Widening.floats(work, elements, in[1], weights, scratch, inputs);
          windows.forEach(
              work,
              (at, result) -> {
                int firstChannel = filter.firstChannel(at.channel());
                float sum = 0;
                for (int y = at.firstY(); y < at.endY(); y++) {
                  at.startRow(filter.depth);
                  for (int x = at.firstX(); x < at.endX(); x++) {
                    long input = at.input(y, x, firstChannel);
                    long weight =
                        inputs + filter.weight(at.channel(), at.filterY(y), at.filterX(x));
                    for (int c = 0; c < filter.depth; c++) {
                      sum +=
                          scratch.getAtIndex(ValueLayout.JAVA_FLOAT, input + c * step)
                              * scratch.getAtIndex(ValueLayout.JAVA_FLOAT, weight + c);
                    }
                  }
                }
                sum += elements.getFloat(in[2], at.channel());
                elements.setFloat(out[0], result, range.clamp(sum));
              });
        };
    return kernel.withScratch((inputs + weights) * Float.BYTES);
  }

  private static Kernel quantized(ResolvedOperation operation, Filter filter, Windows windows) {
    Accumulation accumulation = operation.parameters(Parameters.class).quantized().orElseThrow();
    Elements elements = Elements.of(operation.view().output().type());
    Elements weightElements = Elements.of(operation.view().input(1).type());
    long inputs = operation.inputShape(0).elementCount();
    long weights = operation.inputShape(1).elementCount();
    long step = windows.channelStride();
    Kernel kernel =
        (in, out, scratch, work) -> {
          Widening.ints(work, elements, in[0], accumulation.inputZeroPoint(), inputs, scratch, 0);
          Widening.ints(
              work,
              weightElements,
              in[1],
              accumulation.filterZeroPoint(),
              weights,
              scratch,
              inputs);
          windows.forEach(
              work,
              (at, result) -> {
                int firstChannel = filter.firstChannel(at.channel());
                int sum = Elements.INT32.getInt(in[2], at.channel());
                for (int y = at.firstY(); y < at.endY(); y++) {
                  at.startRow(filter.depth);
                  for (int x = at.firstX(); x < at.endX(); x++) {
                    long input = at.input(y, x, firstChannel);
                    long weight =
                        inputs + filter.weight(at.channel(), at.filterY(y), at.filterX(x));
                    for (int c = 0; c < filter.depth; c++) {
                      sum +=
                          scratch.getAtIndex(ValueLayout.JAVA_INT, input + c * step)
                              * scratch.getAtIndex(ValueLayout.JAVA_INT, weight + c);
                    }
                  }
                }
                elements.setInt(out[0], result, accumulation.stored(sum, at.channel()));
              });
        };
    return kernel.withScratch((inputs + weights) * Integer.BYTES);
  }

  /** The weights and input channels of an output channel. */
  private static final class Filter {
    /** Input channels that each output channel sees; their weights stand side by side. */
    final int depth;

    private final int channelsPerGroup;
    private final long channelStride;
    private final long rowStride;
    private final long columnStride;

    private Filter(
        int outputChannels,
        int groups,
        int depth,
        long channelStride,
        long rowStride,
        long columnStride) {
      this.depth = depth;
      this.channelsPerGroup = outputChannels / groups;
      this.channelStride = channelStride;
      this.rowStride = rowStride;
      this.columnStride = columnStride;
    }

    /** A filter [out, height, width, in]. */
    static Filter outermost(ResolvedOperation operation) {
      Shape shape = operation.inputShape(1);
      long columnStride = shape.dimension(3);
      long rowStride = shape.dimension(2) * columnStride;
      return new Filter(
          shape.dimension(0),
          operation.parameters(Parameters.class).groups(),
          shape.dimension(3),
          shape.dimension(1) * rowStride,
          rowStride,
          columnStride);
    }

    /** A filter [1, height, width, out], whose output channels see one input channel each. */
    static Filter innermost(ResolvedOperation operation) {
      Shape shape = operation.inputShape(1);
      long columnStride = shape.dimension(3);
      return new Filter(
          shape.dimension(3),
          operation.parameters(Parameters.class).groups(),
          1,
          1,
          shape.dimension(2) * columnStride,
          columnStride);
    }

    int firstChannel(int outputChannel) {
      return outputChannel / channelsPerGroup * depth;
    }

    /** The first weight of an output channel in a row and a column of the filter. */
    long weight(int outputChannel, int y, int x) {
      return outputChannel * channelStride + y * rowStride + x * columnStride;
    }
  }
}
