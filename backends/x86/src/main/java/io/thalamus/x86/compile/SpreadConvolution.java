// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.DataLayout;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.Finish;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Convolutions whose results do not stand beside each other: TRANSPOSE_CONV_2D, whose results that
 * lie a stride apart are a convolution with a part of the filter, and GROUPED_CONV_2D, each of
 * whose groups is one. Weights are constants.
 */
public final class SpreadConvolution {
  /** Calls of an operation, at least. */
  private static final long MOST_LINES = 1 << 15;

  private SpreadConvolution() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.TRANSPOSE_CONV_2D,
            operation -> spread(operation).isPresent(),
            SpreadConvolution::transposed,
            TENSOR_FLOAT32)
        .add(
            OperationCode.TRANSPOSE_CONV_2D,
            operation ->
                spread(operation).filter(parameters -> isExact(operation, parameters)).isPresent(),
            SpreadConvolution::storedTransposed,
            ElementTypes.quantized8())
        .add(
            OperationCode.GROUPED_CONV_2D,
            operation ->
                possible(operation)
                    .filter(parameters -> lines(operation) * parameters.groups() < MOST_LINES)
                    .isPresent(),
            SpreadConvolution::grouped,
            TENSOR_FLOAT32);
    for (OperationType type :
        List.of(OperationCode.GROUPED_CONV_2D, ThalamusExtension.GROUPED_CONV_2D)) {
      table.add(
          type,
          operation ->
              possible(operation)
                  .filter(
                      parameters ->
                          lines(operation) * parameters.groups() < MOST_LINES
                              && isExact(operation, parameters))
                  .isPresent(),
          SpreadConvolution::storedGrouped,
          ElementTypes.quantized8());
    }
  }

  /** Returns the parameters; empty where shapes or weights are not known, or channels not last. */
  private static Optional<Parameters> possible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
            && Sizes.isPossible(operation.output())
            && operation.hasValues(1)
        ? StaticGraph.parameters(operation, Parameters.class)
            .filter(parameters -> parameters.layout() == DataLayout.NHWC)
        : Optional.empty();
  }

  private static boolean isExact(OperationView operation, Parameters parameters) {
    Shape filter = operation.input(1).shape();
    return StoredConvolution.isExact(
        operation,
        parameters.quantized().orElseThrow(),
        filter.elementCount() / filter.dimension(0));
  }

  /** Returns the parameters of a transposed convolution whose results have a tap each. */
  private static Optional<Parameters> spread(OperationView operation) {
    return possible(operation)
        .filter(
            parameters ->
                covers(parameters.height())
                    && covers(parameters.width())
                    && lines(operation) * parameters.width().stride() < MOST_LINES);
  }

  /** Returns true if each result has a tap. */
  private static boolean covers(Window window) {
    return window.size() >= window.stride();
  }

  private static long lines(OperationView operation) {
    return (long) operation.output().shape().dimension(0) * operation.output().shape().dimension(1);
  }

  /**
   * The results along an axis that lie a stride apart.
   *
   * @param first the first of them
   * @param results how many there are
   * @param tap the first tap that they see; others lie a stride apart, in the reverse order
   * @param taps how many they see
   * @param cell the last cell of the source that the first result sees
   */
  private record Phase(int first, int results, int tap, int taps, int cell) {
    static List<Phase> of(Window window, int results) {
      List<Phase> phases = new ArrayList<>();
      for (int tap = 0; tap < window.stride(); tap++) {
        int first = Math.floorMod(tap - window.before(), window.stride());
        if (first < results) {
          phases.add(
              new Phase(
                  first,
                  Math.ceilDiv(results - first, window.stride()),
                  tap,
                  Math.ceilDiv(window.size() - tap, window.stride()),
                  (first + window.before()) / window.stride()));
        }
      }
      return phases;
    }
  }

  /** Returns the padding around the source with which each tap sees a cell. */
  private static Window margin(List<Phase> phases, int cells) {
    int before = 0;
    int after = 0;
    for (Phase phase : phases) {
      before = Math.max(before, phase.taps() - 1 - phase.cell());
      after = Math.max(after, phase.cell() + phase.results() - cells);
    }
    return new Window(1, 1, 1, before, after);
  }

  private static void transposed(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape input = operation.inputShape(0);
    Shape output = operation.outputShape(0);
    List<Phase> rows = Phase.of(parameters.height(), output.dimension(1));
    List<Phase> columns = Phase.of(parameters.width(), output.dimension(2));
    Window height = margin(rows, input.dimension(1));
    Window width = margin(columns, input.dimension(2));
    Place source = Convolution.pad(input, height, width, operands.input(0), program);
    int channels = input.dimension(3);
    int cell = channels * Float.BYTES;
    int line = (input.dimension(2) + width.before() + width.after()) * cell;
    long batch = (long) (input.dimension(1) + height.before() + height.after()) * line;
    int result = output.dimension(3) * Float.BYTES;
    float[] weights = Source.floats(operation, 1);
    float[] bias = Source.floats(operation, 2);
    for (Phase row : rows) {
      for (Phase column : columns) {
        Filter filter =
            new Filter(
                new Results(
                    output.dimension(0),
                    batch,
                    (long) output.dimension(1) * output.dimension(2) * result,
                    row.results(),
                    line,
                    parameters.height().stride() * output.dimension(2) * result,
                    column.results(),
                    cell,
                    parameters.width().stride() * result),
                output.dimension(3),
                row.taps(),
                line,
                column.taps(),
                cell,
                channels,
                Finish.of(parameters.activation()));
        int top = row.cell() - row.taps() + 1 + height.before();
        int left = column.cell() - column.taps() + 1 + width.before();
        long to = ((long) row.first() * output.dimension(2) + column.first()) * result;
        Convolution.emit(
            filter,
            weights(part(weights, parameters, row, column, channels), bias, filter, program),
            source.at((long) top * line + (long) left * cell),
            operands.output().at(to),
            program);
      }
    }
  }

  private static Weights weights(
      float[] weights, float[] bias, Filter filter, ProgramBuilder program) {
    return new Weights(
        Source.of(weights, program), Optional.of(Source.of(bias, program)), 0, 1, filter.depth());
  }

  /** The same of bytes: sums of integers have no order. */
  private static void storedTransposed(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Accumulation accumulation = parameters.quantized().orElseThrow();
    Shape input = operation.inputShape(0);
    Shape output = operation.outputShape(0);
    List<Phase> rows = Phase.of(parameters.height(), output.dimension(1));
    List<Phase> columns = Phase.of(parameters.width(), output.dimension(2));
    Window height = margin(rows, input.dimension(1));
    Window width = margin(columns, input.dimension(2));
    StoredSource source = new StoredSource(program, operands.input(0));
    StoredWeights weights = StoredWeights.of(operation, operands, accumulation.filterZeroPoint());
    for (Phase row : rows) {
      for (Phase column : columns) {
        StoredLayer layer =
            new StoredLayer(
                input.dimension(0),
                input.dimension(1),
                input.dimension(2),
                input.dimension(3),
                row.results(),
                column.results(),
                output.dimension(3),
                new Window(row.taps(), 1, 1, height.before(), height.after()),
                new Window(column.taps(), 1, 1, width.before(), width.after()),
                StoredConvolution.isSigned(operation.view()),
                weights.chosen(
                    taps(parameters, row, column),
                    parameters.height().size() * parameters.width().size(),
                    input.dimension(3)),
                operation.view().input(2).int32s(),
                accumulation);
        Placement placement =
            new Placement(
                row.cell() - row.taps() + 1 + height.before(),
                column.cell() - column.taps() + 1 + width.before(),
                output.dimension(1),
                output.dimension(2),
                row.first(),
                parameters.height().stride(),
                column.first(),
                parameters.width().stride(),
                input.dimension(3),
                0,
                output.dimension(3),
                0);
        new StoredProducts(program, layer, source, operands.output().at(0), placement).emit();
      }
    }
  }

  /** The taps that some results see, in the order of the cells. */
  private static int[] taps(Parameters parameters, Phase row, Phase column) {
    int[] taps = new int[row.taps() * column.taps()];
    int at = 0;
    for (int i = row.taps() - 1; i >= 0; i--) {
      for (int j = column.taps() - 1; j >= 0; j--) {
        int y = row.tap() + i * parameters.height().stride();
        int x = column.tap() + j * parameters.width().stride();
        taps[at++] = y * parameters.width().size() + x;
      }
    }
    return taps;
  }

  /** The weights of those taps. */
  private static float[] part(
      float[] weights, Parameters parameters, Phase row, Phase column, int channels) {
    int all = parameters.height().size() * parameters.width().size();
    int[] taps = taps(parameters, row, column);
    int filters = weights.length / (all * channels);
    float[] part = new float[filters * taps.length * channels];
    int at = 0;
    for (int filter = 0; filter < filters; filter++) {
      for (int tap : taps) {
        System.arraycopy(weights, (filter * all + tap) * channels, part, at, channels);
        at += channels;
      }
    }
    return part;
  }

  private static void grouped(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape input = operation.inputShape(0);
    Shape output = operation.outputShape(0);
    Window height = parameters.height();
    Window width = parameters.width();
    Place source = Convolution.pad(input, height, width, operands.input(0), program);
    int groups = parameters.groups();
    int run = input.dimension(3) / groups;
    int channels = output.dimension(3) / groups;
    int depth = height.size() * width.size() * run;
    float[] weights = Source.floats(operation, 1);
    float[] bias = Source.floats(operation, 2);
    for (int group = 0; group < groups; group++) {
      int first = group * channels;
      Filter filter =
          Filter.of(input, output, height, width, run, channels, output.dimension(3) * Float.BYTES)
              .with(Finish.of(parameters.activation()));
      Convolution.emit(
          filter,
          weights(
              Arrays.copyOfRange(weights, first * depth, (first + channels) * depth),
              Arrays.copyOfRange(bias, first, first + channels),
              filter,
              program),
          source.at((long) group * run * Float.BYTES),
          operands.output().at((long) first * Float.BYTES),
          program);
    }
  }

  /** The same of bytes: groups see some channels of one padded source. */
  private static void storedGrouped(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Accumulation accumulation = parameters.quantized().orElseThrow();
    Shape input = operation.inputShape(0);
    Shape output = operation.outputShape(0);
    int run = input.dimension(3) / parameters.groups();
    int channels = output.dimension(3) / parameters.groups();
    int depth = parameters.height().size() * parameters.width().size() * run;
    StoredSource source = new StoredSource(program, operands.input(0));
    StoredWeights weights = StoredWeights.of(operation, operands, accumulation.filterZeroPoint());
    int[] bias = operation.view().input(2).int32s();
    for (int group = 0; group < parameters.groups(); group++) {
      int first = group * channels;
      StoredLayer layer =
          new StoredLayer(
              input.dimension(0),
              input.dimension(1),
              input.dimension(2),
              run,
              output.dimension(1),
              output.dimension(2),
              channels,
              parameters.height(),
              parameters.width(),
              StoredConvolution.isSigned(operation.view()),
              weights.part(first * depth, channels * depth),
              Arrays.copyOfRange(bias, first, first + channels),
              new Accumulation(
                  accumulation.inputZeroPoint(),
                  accumulation.filterZeroPoint(),
                  accumulation.outputZeroPoint(),
                  accumulation.output().subList(first, first + channels),
                  accumulation.activation()));
      Placement placement =
          Placement.group(layer, input.dimension(3), group * run, output.dimension(3), first);
      new StoredProducts(program, layer, source, operands.output().at(0), placement).emit();
    }
  }
}
