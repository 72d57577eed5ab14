// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.MatrixRun;
import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.MatrixMultiply;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.MatrixMultiply.Matrix;
import io.thalamus.operations.extension.MatrixMultiply.Products;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.compile.Lowering.Target;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.PaddedRows;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Float convolutions and products of matrices. */
public final class Convolution {
  /** Bytes that stay in a cache of the second level beside others. */
  static final long MOST_KEPT = 1 << 18;

  /** Calls of an operation. */
  private static final long MOST_CALLS = 1 << 16;

  /** Results that are so few that a block has hardly more than one. */
  static final int FEW = 2;

  /** Results of an operation that are matrices. */
  private static final long MOST_MATRICES = 1 << 12;

  static final Window ONE = new Window(1, 1, 1, 0, 0);

  private Convolution() {}

  /** Returns the vectors of channels at a time. */
  static int vectors(int channels, int results, ProgramBuilder program) {
    int whole = Math.ceilDiv(channels, program.emitter().lanes());
    if (results > FEW) {
      return Math.min(whole, 2);
    }
    // As many sums as hide the latency of each, in panels of equal sizes: a narrow one takes as
    // long as a wide one.
    int most = program.emitter().length() == Length.ZMM ? 8 : 6;
    return Math.ceilDiv(whole, Math.ceilDiv(whole, most));
  }

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    Casting.addFloats(
        table,
        OperationCode.CONV_2D,
        operation -> isPossible(operation, 0),
        new FusibleLayer(Convolution::convolution));
    Casting.addFloats(
        table,
        OperationCode.DEPTHWISE_CONV_2D,
        operation -> isPossible(operation, 1) && isRepeatable(operation),
        new FusibleLayer(Channels::lower));
    Casting.addFloats(
        table,
        OperationCode.FULLY_CONNECTED,
        operation -> areWeightsKnown(operation) && operation.input(3).value().isPresent(),
        new FusibleLayer(Convolution::product));
    Casting.addFloats(
        table,
        ThalamusExtension.BATCH_MATMUL,
        Convolution::areProductsPossible,
        Convolution::products);
  }

  /**
   * Returns true if shapes are known, and channels stand last.
   *
   * @param ownArguments between the strides and the activation
   */
  private static boolean isPossible(OperationView operation, int ownArguments) {
    if (!areWeightsKnown(operation) || !operation.hasValues(3)) {
      return false;
    }
    int layout = 7 + ownArguments;
    boolean isExplicit =
        operation.inputs().size() >= layout + 3
            && operation.input(layout).type() != OperandCode.BOOL;
    return !operation.bool(isExplicit ? layout + 3 : layout, false)
        && Sizes.isPossible(operation.output())
        && (long) operation.output().shape().dimension(0) * operation.output().shape().dimension(1)
            < MOST_CALLS;
  }

  /** Returns true if the source still fits when each channel is repeated. */
  static boolean isRepeatable(OperationView operation) {
    Shape shape = operation.input(0).shape();
    int channels = operation.input(1).shape().dimension(3);
    return shape.elementCount() / shape.dimension(3) * channels < Sizes.MOST_FLOATS;
  }

  private static boolean areWeightsKnown(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && Sizes.isPossible(operation.input(1))
        && Sizes.isPossible(operation.input(2));
  }

  static boolean areProductsPossible(OperationView operation) {
    if (!Sizes.isPossible(operation.input(0))
        || !Sizes.isPossible(operation.input(1))
        || !Sizes.isPossible(operation.output())
        || !operation.hasValues(2)) {
      return false;
    }
    Shape result = operation.output().shape();
    long rows = result.elementCount() / result.dimension(result.rank() - 1);
    return rows / result.dimension(result.rank() - 2) < MOST_MATRICES;
  }

  private static void products(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Products products = operation.parameters(Products.class);
    Place first = rows(operation, products, operands.input(0), program);
    record Packed(Matrix second, int vectors) {}

    Map<Packed, List<Panel>> panels = new HashMap<>();
    List<Runnable> calls = new ArrayList<>();
    int columns = products.columns();
    for (MatrixRun run : MatrixRun.of(products)) {
      Weights weights =
          new Weights(
              Source.of(operation, operands, 1),
              Optional.empty(),
              run.second().offset(),
              run.second().rowStride(),
              run.second().columnStride());
      Filter filter = ofRows(run.count() * products.rows(), products.inner(), columns);
      List<Panel> packed =
          panels.computeIfAbsent(
              new Packed(run.second(), vectors(columns, filter.results().results(), program)),
              _ -> pack(filter, weights, program));
      Spot from = first.at(run.firstOffset() * Float.BYTES);
      Spot to = operands.output().at((long) run.begin() * products.rows() * columns * Float.BYTES);
      calls.add(() -> filter.emit(packed, from, to, program));
    }
    // All are packed before the first is read: neither waits for its neighbour.
    calls.forEach(Runnable::run);
  }

  /** Returns the filter by which rows that stand behind each other are multiplied. */
  private static Filter ofRows(int rows, int inner, int columns) {
    return Filter.ofRows(
        Results.ofLine(rows, inner * Float.BYTES, columns * Float.BYTES), inner, columns);
  }

  private static List<Panel> pack(Filter filter, Weights weights, ProgramBuilder program) {
    return weights.new Packer(program, filter.depth())
        .pack(
            filter.channels(),
            vectors(filter.channels(), filter.results().results(), program),
            filter.results().count());
  }

  /** Returns where the first matrices stand row by row. */
  private static Place rows(
      ResolvedOperation operation, Products products, Place from, ProgramBuilder program) {
    if (!operation.view().input(2).bool()) {
      return from;
    }
    Place to = program.place(from.bytes());
    int rows = products.inner();
    int columns = products.rows();
    long matrix = (long) rows * columns * Float.BYTES;
    for (long at = 0; at < from.bytes(); at += matrix) {
      Moving.transpose(rows, columns, from.at(at), to.at(at), program);
    }
    return to;
  }

  static Weights weights(
      ResolvedOperation operation, Lowering.Operands operands, long depthStep, long channelStep) {
    return new Weights(
        Source.of(operation, operands, 1),
        Optional.of(Source.of(operation, operands, 2)),
        0,
        depthStep,
        channelStep);
  }

  private static void product(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    MatrixMultiply.Parameters parameters = operation.parameters(MatrixMultiply.Parameters.class);
    int inner = parameters.inputSize();
    Target target = operands.target(parameters.units() * Float.BYTES);
    Results results = Results.ofLine(parameters.batches(), inner * Float.BYTES, target.step());
    Filter filter =
        Filter.ofRows(results, inner, parameters.units())
            .with(operands.finish(parameters.activation()));
    Weights weights = weights(operation, operands, 1, inner);
    emit(filter, weights, operands.input(0).at(0), target.at(), program);
  }

  /** Multiplies rows of a matrix by weights. */
  static void product(
      int rows,
      int inner,
      int columns,
      Weights weights,
      Place source,
      Place output,
      ProgramBuilder program) {
    emit(ofRows(rows, inner, columns), weights, source.at(0), output.at(0), program);
  }

  /**
   * Multiplies rows of a matrix by weights that other operations have too.
   *
   * @param key of the weights
   */
  static void product(
      Object key,
      int rows,
      int inner,
      int columns,
      Supplier<Weights> weights,
      Place source,
      Place output,
      ProgramBuilder program) {
    record Packed(Object key, int rows) {}

    Filter filter = ofRows(rows, inner, columns);
    List<Panel> panels =
        program.once(new Packed(key, rows), () -> pack(filter, weights.get(), program));
    filter.emit(panels, source.at(0), output.at(0), program);
  }

  /** Multiplies what a filter sees by weights. */
  static void emit(
      Filter filter, Weights weights, Spot source, Spot output, ProgramBuilder program) {
    filter.emit(pack(filter, weights, program), source, output, program);
  }

  private static void convolution(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape result = operation.outputShape(0);
    Shape input = operation.inputShape(0);
    Window height = parameters.height();
    Window width = parameters.width();
    Place source = pad(input, height, width, operands.input(0), program);
    int channels = result.dimension(3);
    int run = input.dimension(3);
    Target target = operands.target(channels * Float.BYTES);
    Filter filter =
        isPointwise(height) && isPointwise(width) && source == operands.input(0)
            // All results stand beside each other, as what they see does.
            ? Filter.ofRows(
                Results.ofLine(
                    Math.toIntExact(result.elementCount() / channels),
                    run * Float.BYTES,
                    target.step()),
                run,
                channels)
            : Filter.of(input, result, height, width, run, channels, target.step());
    emit(
        filter.with(operands.finish(parameters.activation())),
        weights(operation, operands, 1, filter.depth()),
        source.at(0),
        target.at(),
        program);
  }

  private static boolean isPointwise(Window window) {
    return window.size() == 1 && window.stride() == 1;
  }

  /** Returns where the source stands with zeros around it. */
  static Place pad(Shape input, Window height, Window width, Place from, ProgramBuilder program) {
    if (height.before() + height.after() + width.before() + width.after() == 0) {
      return from;
    }
    int cell = input.dimension(3) * Float.BYTES;
    int rows = input.dimension(1);
    int bytes = input.dimension(2) * cell;
    int padded = bytes + (width.before() + width.after()) * cell;
    long batch = (long) (rows + height.before() + height.after()) * padded;
    Place to = program.place(input.dimension(0) * batch);
    PaddedRows zeros = new PaddedRows(padded, 0, 0);
    PaddedRows copies = new PaddedRows(width.before() * cell, bytes, width.after() * cell);
    for (int b = 0; b < input.dimension(0); b++) {
      long at = b * batch;
      if (height.before() > 0) {
        program.call(zeros, height.before(), from.at(0), to.at(at));
      }
      program.call(
          copies,
          rows,
          from.at((long) b * rows * bytes),
          to.at(at + (long) height.before() * padded));
      if (height.after() > 0) {
        program.call(
            zeros,
            height.after(),
            from.at(0),
            to.at(at + (long) (height.before() + rows) * padded));
      }
    }
    return to;
  }
}
