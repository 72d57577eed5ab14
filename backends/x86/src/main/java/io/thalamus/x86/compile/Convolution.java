// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.MatrixRun;
import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.MatrixMultiply;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.MatrixMultiply.Matrix;
import io.thalamus.operations.extension.MatrixMultiply.Products;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.PaddedRows;
import io.thalamus.x86.kernel.Sums;
import io.thalamus.x86.kernel.Taps;
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

  /** Products of a call: about a tenth of a millisecond. */
  static final long MOST_PRODUCTS = 1 << 22;

  /** Calls of an operation. */
  private static final long MOST_CALLS = 1 << 16;

  /** Vectors of channels where there are hardly any rows: as many sums as hide the latency. */
  static final int FEW_ROWS_VECTORS = 6;

  /** Results of an operation that are matrices. */
  private static final long MOST_MATRICES = 1 << 12;

  static final Window ONE = new Window(1, 1, 1, 0, 0);

  private final ProgramBuilder program;
  private final Layer layer;
  private final Spot source;
  private final Spot output;
  private final int vectors;

  /**
   * A convolution over rows that already have their padding.
   *
   * @param lines results below each other, over all batches
   * @param linesOfBatch results below each other in one batch
   * @param results beside each other
   * @param sourceWidth cells of a row of the source, padding included
   * @param sourceHeight rows of a batch, padding included
   * @param channels of the source
   * @param weights by output channel, tap and channel
   * @param function that results become before they are stored
   */
  private record Layer(
      int lines,
      int linesOfBatch,
      int results,
      int sourceHeight,
      int sourceWidth,
      int channels,
      int resultChannels,
      Window height,
      Window width,
      Weights weights,
      FusedActivation activation,
      Optional<Kind> function) {
    /** Rows of a matrix that is multiplied by another one. */
    static Layer ofRows(int rows, int inner, int columns, Weights weights) {
      return ofRows(rows, inner, columns, weights, FusedActivation.NONE, Optional.empty());
    }

    static Layer ofRows(
        int rows,
        int inner,
        int columns,
        Weights weights,
        FusedActivation activation,
        Optional<Kind> function) {
      return new Layer(
          1, 1, rows, 1, rows, inner, columns, ONE, ONE, weights, activation, function);
    }

    /** Returns the weights of a channel. */
    int depth() {
      return height.size() * width.size() * channels;
    }
  }

  private Convolution(ProgramBuilder program, Layer layer, Spot source, Spot output) {
    this.program = program;
    this.layer = layer;
    this.source = source;
    this.output = output;
    vectors = vectors(layer.resultChannels(), layer.results(), program);
  }

  /** Returns the vectors of channels at a time. */
  static int vectors(int channels, int results, ProgramBuilder program) {
    int whole = Math.ceilDiv(channels, program.emitter().lanes());
    return Math.min(whole, results <= 2 ? FEW_ROWS_VECTORS : 2);
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
    for (MatrixRun run : MatrixRun.of(products)) {
      Weights weights =
          new Weights(
              Source.of(operation, operands, 1),
              Optional.empty(),
              run.second().offset(),
              run.second().rowStride(),
              run.second().columnStride());
      Layer layer =
          Layer.ofRows(
              run.count() * products.rows(), products.inner(), products.columns(), weights);
      long to = (long) run.begin() * products.rows() * products.columns() * Float.BYTES;
      Convolution product =
          new Convolution(
              program, layer, first.at(run.firstOffset() * Float.BYTES), operands.output().at(to));
      List<Panel> packed =
          panels.computeIfAbsent(new Packed(run.second(), product.vectors), _ -> product.pack());
      calls.add(() -> product.emit(packed));
    }
    // All are packed before the first is read: neither waits for its neighbour.
    calls.forEach(Runnable::run);
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
    Layer layer =
        Layer.ofRows(
            parameters.batches(),
            parameters.inputSize(),
            parameters.units(),
            weights(operation, operands, 1, parameters.inputSize()),
            parameters.activation(),
            operands.function());
    emit(layer, operands.input(0), operands.output(), program);
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
    emit(Layer.ofRows(rows, inner, columns, weights), source, output, program);
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

    List<Panel> panels =
        program.once(
            new Packed(key, rows),
            () -> of(rows, inner, columns, weights.get(), source, output, program).pack());
    of(rows, inner, columns, null, source, output, program).emit(panels);
  }

  private static Convolution of(
      int rows,
      int inner,
      int columns,
      Weights weights,
      Place source,
      Place output,
      ProgramBuilder program) {
    Layer layer = Layer.ofRows(rows, inner, columns, weights);
    return new Convolution(program, layer, source.at(0), output.at(0));
  }

  private static void emit(Layer layer, Place source, Place output, ProgramBuilder program) {
    Convolution convolution = new Convolution(program, layer, source.at(0), output.at(0));
    convolution.emit(convolution.pack());
  }

  private static void convolution(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape result = operation.outputShape(0);
    Shape input = operation.inputShape(0);
    Window height = parameters.height();
    Window width = parameters.width();
    int batches = input.dimension(0);
    int sourceHeight = input.dimension(1) + height.before() + height.after();
    int sourceWidth = input.dimension(2) + width.before() + width.after();
    boolean isPadded = sourceHeight != input.dimension(1) || sourceWidth != input.dimension(2);
    int lines = batches * result.dimension(1);
    int linesOfBatch = result.dimension(1);
    int results = result.dimension(2);
    if (!isPadded && isPointwise(height) && isPointwise(width)) {
      // All results stand beside each other, as what they see does.
      results *= lines;
      lines = 1;
      linesOfBatch = 1;
      sourceWidth *= batches * sourceHeight;
      sourceHeight = 1;
    }
    Layer layer =
        new Layer(
            lines,
            linesOfBatch,
            results,
            sourceHeight,
            sourceWidth,
            input.dimension(3),
            result.dimension(3),
            height,
            width,
            weights(
                operation, operands, 1, (long) height.size() * width.size() * input.dimension(3)),
            parameters.activation(),
            operands.function());
    Place source = pad(input, height, width, operands.input(0), program);
    emit(layer, source, operands.output(), program);
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

  private List<Panel> pack() {
    return layer.weights().new Packer(program, layer.depth()).pack(layer.resultChannels(), vectors);
  }

  /**
   * Emits the functions of all panels, and their calls panel by panel: weights stay in a cache.
   * Where there are few of them, all panels follow for a part of the results before the next part:
   * then it is the part that stays there, while its panels read and write it again and again.
   */
  private void emit(List<Panel> panels) {
    int most = Sums.mostRows(program.emitter(), vectors);
    int blocks = Math.ceilDiv(layer.results(), most);
    int rows = Math.ceilDiv(layer.results(), blocks);
    int whole = layer.results() / rows;
    int rest = layer.results() % rows;
    long bytes = bytesOfResult();
    boolean isParted = panels.size() > 1 && bytesOfWeights() <= MOST_KEPT;
    int lines =
        isParted
            ? Math.clamp(MOST_KEPT / (bytes * layer.results()), 1, layer.lines())
            : layer.lines();
    int part = isParted ? Math.clamp(MOST_KEPT / (bytes * rows), 1, whole) : whole;
    List<Block> full = panels.stream().map(panel -> block(rows, panel)).toList();
    List<Block> last =
        rest > 0 ? panels.stream().map(panel -> block(rest, panel)).toList() : List.of();
    for (int line = 0; line < layer.lines(); line += lines) {
      for (int block = 0; block < whole; block += part) {
        int blocksOfPart = Math.min(part, whole - block);
        boolean isLast = rest > 0 && block + part >= whole;
        for (int panel = 0; panel < panels.size(); panel++) {
          for (int i = line; i < Math.min(line + lines, layer.lines()); i++) {
            call(full.get(panel), i, block * rows, blocksOfPart);
            if (isLast) {
              call(last.get(panel), i, whole * rows, 1);
            }
          }
        }
      }
    }
  }

  /** Some results of a line with the channels of a panel, and the function that computes them. */
  private record Block(int rows, Panel panel, Function function) {}

  private Block block(int rows, Panel panel) {
    return new Block(rows, panel, taps(rows, panel).emit(program.emitter()));
  }

  /** Returns the bytes that a result adds to what is read and written. */
  private long bytesOfResult() {
    long read = (long) layer.channels() * layer.height().stride() * layer.width().stride();
    return (read + layer.resultChannels()) * Float.BYTES;
  }

  private long bytesOfWeights() {
    return layer.depth() * (long) layer.resultChannels() * Float.BYTES;
  }

  private Taps taps(int rows, Panel panel) {
    int cell = layer.channels() * Float.BYTES;
    boolean isJoined = layer.width().dilation() == 1;
    return new Taps(
        panel.at().place() == null,
        new Sums(
            false,
            panel.vectors(),
            panel.channels(),
            layer.resultChannels() * Float.BYTES,
            layer.activation(),
            layer.function()),
        rows,
        layer.height().size(),
        layer.height().dilation() * layer.sourceWidth() * cell,
        isJoined ? 1 : layer.width().size(),
        isJoined ? 0 : layer.width().dilation() * cell,
        isJoined ? layer.width().size() * layer.channels() : layer.channels(),
        layer.width().stride() * cell);
  }

  private void call(Block called, int line, int result, int blocks) {
    Panel panel = called.panel();
    int batch = line / layer.linesOfBatch();
    int row = line % layer.linesOfBatch() * layer.height().stride();
    long cell = layer.channels() * (long) Float.BYTES;
    long from =
        (((long) batch * layer.sourceHeight() + row) * layer.sourceWidth()
                + (long) result * layer.width().stride())
            * cell;
    long to =
        (((long) line * layer.results() + result) * layer.resultChannels() + panel.channel())
            * Float.BYTES;
    long products = (long) called.rows() * panel.channels() * layer.depth();
    int most = (int) Math.max(1, MOST_PRODUCTS / products);
    Spot read = source.plus(from);
    program.callInParts(called.function(), blocks, most, read, output.plus(to), panel.at());
  }
}
