// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

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
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.PaddedRows;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.Taps;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Float convolutions and fully connected layers whose weights and bias are constants. */
public final class Convolution {
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** Products of a call: about a tenth of a millisecond. */
  private static final long MOST_PRODUCTS = 1 << 22;

  /** Floats of a call that repeats channels. */
  private static final int MOST_REPEATED = 1 << 15;

  /** Calls of an operation. */
  private static final long MOST_CALLS = 1 << 16;

  /** Vectors of channels where there are hardly any rows: as many sums as hide the latency. */
  private static final int FEW_ROWS_VECTORS = 6;

  /** Columns that are transposed at a time. */
  private static final int BLOCK = 64;

  private final ProgramBuilder program;
  private final Layer layer;
  private final Place source;
  private final Place output;
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
   * @param weights by output channel, tap and channel; by tap and channel if depthwise
   */
  private record Layer(
      boolean isDepthwise,
      int lines,
      int linesOfBatch,
      int results,
      int sourceHeight,
      int sourceWidth,
      int channels,
      int resultChannels,
      Window height,
      Window width,
      float[] weights,
      float[] bias,
      FusedActivation activation) {}

  private Convolution(ProgramBuilder program, Layer layer, Place source, Place output) {
    this.program = program;
    this.layer = layer;
    this.source = source;
    this.output = output;
    int lanes = program.emitter().lanes();
    int whole = Math.ceilDiv(layer.resultChannels(), lanes);
    vectors = Math.min(whole, layer.results() <= 2 ? FEW_ROWS_VECTORS : 2);
  }

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            OperationCode.CONV_2D,
            operation -> isPossible(operation, 0),
            Convolution::convolution,
            TENSOR_FLOAT32)
        .add(
            OperationCode.DEPTHWISE_CONV_2D,
            operation -> isPossible(operation, 1) && isRepeatable(operation),
            Convolution::convolution,
            TENSOR_FLOAT32)
        .add(
            OperationCode.FULLY_CONNECTED,
            operation -> areWeightsConstant(operation) && operation.input(3).value().isPresent(),
            Convolution::product,
            TENSOR_FLOAT32);
  }

  /**
   * Whether shapes and weights are known, and channels stand last.
   *
   * @param ownArguments between the strides and the activation
   */
  private static boolean isPossible(OperationView operation, int ownArguments) {
    if (!areWeightsConstant(operation)) {
      return false;
    }
    int layout = 7 + ownArguments;
    boolean isExplicit =
        operation.inputs().size() >= layout + 3
            && operation.input(layout).type() != OperandCode.BOOL;
    for (int i = 3; i < operation.inputs().size(); i++) {
      if (operation.input(i).value().isEmpty()) {
        return false;
      }
    }
    return !operation.bool(isExplicit ? layout + 3 : layout, false)
        && Sizes.isPossible(operation.output())
        && (long) operation.output().shape().dimension(0) * operation.output().shape().dimension(1)
            < MOST_CALLS;
  }

  /** Whether the source still fits when each channel is repeated. */
  private static boolean isRepeatable(OperationView operation) {
    Shape shape = operation.input(0).shape();
    int channels = operation.input(1).shape().dimension(3);
    return shape.elementCount() / shape.dimension(3) * channels < Sizes.MOST_FLOATS;
  }

  private static boolean areWeightsConstant(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && Sizes.isPossible(operation.input(1))
        && operation.input(1).value().isPresent()
        && operation.input(2).value().isPresent();
  }

  private static float[] floats(ResolvedOperation operation, int input) {
    MemorySegment value = operation.view().input(input).value().orElseThrow();
    return value.toArray(FLOAT);
  }

  private static void product(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    MatrixMultiply.Parameters parameters = operation.parameters(MatrixMultiply.Parameters.class);
    Window one = new Window(1, 1, 1, 0, 0);
    Layer layer =
        new Layer(
            false,
            1,
            1,
            parameters.batches(),
            1,
            parameters.batches(),
            parameters.inputSize(),
            operation.inputShape(1).dimension(0),
            one,
            one,
            floats(operation, 1),
            floats(operation, 2),
            parameters.activation());
    new Convolution(program, layer, operands.input(0), operands.output()).emit();
  }

  private static void convolution(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Parameters parameters = operation.parameters(Parameters.class);
    Shape result = operation.outputShape(0);
    boolean isDepthwise = operation.view().type() == OperationCode.DEPTHWISE_CONV_2D;
    Shape input = operation.inputShape(0);
    Place source = operands.input(0);
    if (isDepthwise && input.dimension(3) != result.dimension(3)) {
      source = repeat(input, result.dimension(3) / input.dimension(3), source, program);
      input = input.with(3, result.dimension(3));
    }
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
            isDepthwise,
            lines,
            linesOfBatch,
            results,
            sourceHeight,
            sourceWidth,
            input.dimension(3),
            result.dimension(3),
            height,
            width,
            floats(operation, 1),
            floats(operation, 2),
            parameters.activation());
    if (isPadded) {
      source = pad(input, height, width, source, program);
    }
    new Convolution(program, layer, source, operands.output()).emit();
  }

  /** Each channel as often as there are filters for it. */
  private static Place repeat(Shape input, int times, Place from, ProgramBuilder program) {
    int floats = Math.toIntExact(input.elementCount());
    Place to = program.place((long) floats * times * Float.BYTES);
    for (int at = 0; at < floats; at += MOST_REPEATED) {
      Strided copy =
          new Strided(
              Float.BYTES,
              Math.min(MOST_REPEATED, floats - at),
              Float.BYTES,
              times * Float.BYTES,
              0,
              0);
      for (int i = 0; i < times; i++) {
        program.call(
            copy.emit(program.emitter()),
            from,
            (long) at * Float.BYTES,
            to,
            ((long) at * times + i) * Float.BYTES,
            1);
      }
    }
    return to;
  }

  private static boolean isPointwise(Window window) {
    return window.size() == 1 && window.stride() == 1;
  }

  private static Place pad(
      Shape input, Window height, Window width, Place from, ProgramBuilder program) {
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
        program.call(zeros.emit(program.emitter()), from, 0, to, at, height.before());
      }
      program.call(
          copies.emit(program.emitter()),
          from,
          (long) b * rows * bytes,
          to,
          at + (long) height.before() * padded,
          rows);
      if (height.after() > 0) {
        program.call(
            zeros.emit(program.emitter()),
            from,
            0,
            to,
            at + (long) (height.before() + rows) * padded,
            height.after());
      }
    }
    return to;
  }

  /** Emits the functions of all panels, and their calls panel by panel: weights stay in a cache. */
  private void emit() {
    int most = Taps.mostRows(program.emitter(), vectors);
    int blocks = Math.ceilDiv(layer.results(), most);
    int rows = Math.ceilDiv(layer.results(), blocks);
    int whole = layer.results() / rows;
    int rest = layer.results() % rows;
    int width = vectors * program.emitter().lanes();
    for (int channel = 0; channel < layer.resultChannels(); channel += width) {
      int channels = Math.min(width, layer.resultChannels() - channel);
      int panelVectors = Math.ceilDiv(channels, program.emitter().lanes());
      long panel = program.constant(pack(channel, channels, panelVectors));
      Taps taps = taps(rows, panelVectors, channels);
      Function function = taps.emit(program.emitter());
      Taps last = rest > 0 ? taps(rest, panelVectors, channels) : taps;
      Function lastFunction = last.emit(program.emitter());
      for (int line = 0; line < layer.lines(); line++) {
        call(taps, function, line, 0, whole, channel, panel);
        if (rest > 0) {
          call(last, lastFunction, line, whole * rows, 1, channel, panel);
        }
      }
    }
  }

  private Taps taps(int rows, int panelVectors, int channels) {
    int cell = layer.channels() * Float.BYTES;
    boolean isJoined = !layer.isDepthwise() && layer.width().dilation() == 1;
    return new Taps(
        layer.isDepthwise(),
        rows,
        panelVectors,
        channels,
        layer.height().size(),
        layer.height().dilation() * layer.sourceWidth() * cell,
        isJoined ? 1 : layer.width().size(),
        isJoined ? 0 : layer.width().dilation() * cell,
        layer.isDepthwise()
            ? 1
            : isJoined ? layer.width().size() * layer.channels() : layer.channels(),
        layer.width().stride() * cell,
        layer.resultChannels() * Float.BYTES,
        layer.activation());
  }

  private void call(
      Taps taps, Function function, int line, int result, int blocks, int channel, long panel) {
    int batch = line / layer.linesOfBatch();
    int row = line % layer.linesOfBatch() * layer.height().stride();
    long cell = layer.channels() * (long) Float.BYTES;
    long from =
        (((long) batch * layer.sourceHeight() + row) * layer.sourceWidth()
                + (long) result * layer.width().stride())
            * cell;
    if (layer.isDepthwise()) {
      from += (long) channel * Float.BYTES;
    }
    long to =
        (((long) line * layer.results() + result) * layer.resultChannels() + channel) * Float.BYTES;
    long products =
        (long) taps.rows() * taps.channels() * taps.height() * taps.width() * taps.run();
    int most = (int) Math.max(1, MOST_PRODUCTS / products);
    for (int block = 0; block < blocks; block += most) {
      program.call(
          function,
          source,
          from + (long) block * taps.rows() * taps.rowStep(),
          output,
          to + (long) block * taps.rows() * taps.resultStep(),
          panel,
          Math.min(most, blocks - block));
    }
  }

  /** The bias, then the weights of each tap, each as long as the vectors are. */
  private MemorySegment pack(int channel, int channels, int panelVectors) {
    int padded = panelVectors * program.emitter().lanes();
    int taps = layer.height().size() * layer.width().size();
    int depth = layer.isDepthwise() ? taps : taps * layer.channels();
    float[] packed = new float[(1 + depth) * padded];
    System.arraycopy(layer.bias(), channel, packed, 0, channels);
    if (layer.isDepthwise()) {
      for (int k = 0; k < depth; k++) {
        int from = k * layer.resultChannels() + channel;
        System.arraycopy(layer.weights(), from, packed, (1 + k) * padded, channels);
      }
    } else {
      transpose(layer.weights(), channel * depth, depth, channels, packed, padded);
    }
    return MemorySegment.ofArray(packed);
  }

  /**
   * Writes what stands in rows into columns, behind the first row: in blocks that stay in a cache,
   * and in a loop that is short enough for the JVM to compile soon.
   */
  private static void transpose(
      float[] from, int first, int depth, int channels, float[] to, int step) {
    for (int begin = 0; begin < depth; begin += BLOCK) {
      int end = Math.min(depth, begin + BLOCK);
      for (int c = 0; c < channels; c++) {
        int row = first + c * depth;
        int at = (1 + begin) * step + c;
        for (int k = begin; k < end; k++, at += step) {
          to[at] = from[row + k];
        }
      }
    }
  }
}
