// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.model.LittleEndian.SHORT;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.compile.SharedWeights.Packed;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.Transposed;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The float weights and the bias of a layer, which may be constants. Those that are not are packed
 * by each run.
 *
 * @param numbers the weights
 * @param bias by channel; empty for zeros
 * @param first element of the weights
 * @param depthStep elements from one weight of a channel to the next
 * @param channelStep elements from one channel to the next; one of both steps is 1
 */
record Weights(
    Source numbers, Optional<Source> bias, long first, long depthStep, long channelStep) {
  /** Columns that are transposed at a time. */
  private static final int BLOCK = 64;

  /** Elements of a call. */
  private static final int LONGEST = 1 << 16;

  /** Weights that as floats no longer stay in the first cache. */
  private static final int LEAST_BYTES = 1 << 13;

  /**
   * The source of numbers.
   *
   * @param constant the numbers, where they are known
   * @param identity of these; empty where no other compilation has the same
   * @param place returns where they stand during a run
   */
  record Source(
      Optional<MemorySegment> constant, Optional<Identity> identity, Supplier<Place> place) {
    /** Returns an input of an operation. */
    static Source of(ResolvedOperation operation, Lowering.Operands operands, int input) {
      OperandView view = operation.view().input(input);
      return new Source(
          known(view),
          view.type() == OperandCode.TENSOR_FLOAT16 ? Optional.empty() : operands.identity(input),
          () -> operands.input(input));
    }

    /** Returns the numbers of an input, which are known. */
    static float[] floats(ResolvedOperation operation, int input) {
      return known(operation.view().input(input)).orElseThrow().toArray(FLOAT);
    }

    private static Optional<MemorySegment> known(OperandView view) {
      return view.type() == OperandCode.TENSOR_FLOAT16
          ? view.value().map(Source::widen)
          : view.value();
    }

    /** Returns floats of 16 bits as ones of 32. */
    private static MemorySegment widen(MemorySegment halves) {
      short[] from = halves.toArray(SHORT);
      float[] to = new float[from.length];
      for (int i = 0; i < to.length; i++) {
        to[i] = Float.float16ToFloat(from[i]);
      }
      return MemorySegment.ofArray(to);
    }

    /** Returns numbers that are known. */
    static Source of(float[] numbers, ProgramBuilder program) {
      MemorySegment bytes = MemorySegment.ofArray(new byte[numbers.length * Float.BYTES]);
      MemorySegment.copy(numbers, 0, bytes, FLOAT, 0, numbers.length);
      return new Source(
          Optional.of(bytes),
          Optional.empty(),
          () -> program.constantPlace(bytes.toArray(ValueLayout.JAVA_BYTE)));
    }

    boolean isConstant() {
      return constant.isPresent();
    }

    ByteBuffer bytes() {
      MemorySegment numbers = constant.orElseThrow();
      byte[] copy = new byte[Math.toIntExact(numbers.byteSize())];
      MemorySegment.copy(numbers, ValueLayout.JAVA_BYTE, 0, copy, 0, copy.length);
      return ByteBuffer.wrap(copy);
    }

    /** Copies some of the numbers, if they are known. */
    void copy(long element, int count, float[] to, int at) {
      MemorySegment.copy(constant.orElseThrow(), FLOAT, element * Float.BYTES, to, at, count);
    }
  }

  boolean isConstant() {
    return numbers.isConstant() && (bias.isEmpty() || bias.get().isConstant());
  }

  /**
   * All that decides on the panels of a layer.
   *
   * @param bias of all channels
   * @param padded elements of a row of a panel
   */
  private record Key(
      Identity numbers,
      Optional<ByteBuffer> bias,
      long first,
      long depthStep,
      long channelStep,
      int depth,
      int channels,
      int padded,
      boolean areBytes) {}

  /** Packs the panels of one layer. Used once. */
  final class Packer {
    private final ProgramBuilder program;
    private final int depth;

    /** The factors by which bytes are the weights, by channel; empty for weights in floats. */
    private float[] factors = {};

    /** A panel, and the rows that it is made of: each is used again for the next one. */
    private float[] packed = {};

    private float[] rows = {};

    /**
     * A packer.
     *
     * @param depth weights of a channel
     */
    Packer(ProgramBuilder program, int depth) {
      this.program = program;
      this.depth = depth;
    }

    /** Packs all panels as floats. */
    List<Panel> pack(int channels, int vectors) {
      return pack(channels, vectors, Long.MAX_VALUE);
    }

    /**
     * Packs all panels, one behind the other. The last one may have fewer channels, and is apart
     * then.
     *
     * @param vectors of a panel
     * @param results of a call; few of them wait for weights, of which bytes are a quarter
     */
    List<Panel> pack(int channels, int vectors, long results) {
      boolean areFew = results <= Convolution.FEW && (long) depth * channels >= LEAST_BYTES;
      if (areFew && depthStep == 1 && isConstant()) {
        factors = StoredFactors.of(this::copyRow, depth, channels);
      }
      int lanes = program.emitter().lanes();
      int width = vectors * lanes;
      int whole = channels / width;
      int rest = channels % width;
      int restVectors = Math.ceilDiv(rest, lanes);
      long wholeBytes = bytes(width);
      long allBytes = whole * wholeBytes + (rest > 0 ? bytes(restVectors * lanes) : 0);
      Spot at =
          isConstant()
              ? Spot.ofConstant(constant(channels, width, allBytes))
              : program.place(allBytes).at(0);
      boolean areBytes = factors.length > 0;
      Spot behind = at.plus(whole * wholeBytes);
      Panel all = new Panel(0, width, vectors, whole, at, areBytes);
      Panel last = new Panel(whole * width, rest, restVectors, 1, behind, areBytes);
      List<Panel> panels = new ArrayList<>(2);
      for (Panel panel : List.of(all, last)) {
        if (panel.count() * panel.channels() > 0) {
          panels.add(panel);
        }
      }
      if (!isConstant()) {
        panels.forEach(this::write);
      }
      return panels;
    }

    /** Returns the bytes of a panel. */
    private long bytes(int padded) {
      return factors.length > 0
          ? (2L * Float.BYTES + depth) * padded
          : (1L + depth) * padded * Float.BYTES;
    }

    private void copyRow(int channel, float[] to) {
      numbers.copy(first + channel * channelStep, depth, to, 0);
    }

    private long constant(int channels, int width, long bytes) {
      Optional<Key> key =
          numbers
              .identity()
              .map(
                  identity ->
                      new Key(
                          identity,
                          bias.map(Source::bytes),
                          first,
                          depthStep,
                          channelStep,
                          depth,
                          channels,
                          width,
                          factors.length > 0));
      return program
          .constant(key, () -> new Packed(bytes, to -> writeConstants(to, channels, width), null))
          .at();
    }

    private void writeConstants(MemorySegment to, int channels, int width) {
      int lanes = program.emitter().lanes();
      long at = 0;
      for (int channel = 0; channel < channels; channel += width) {
        int some = Math.min(width, channels - channel);
        int padded = Math.ceilDiv(some, lanes) * lanes;
        MemorySegment panel =
            factors.length > 0 ? bytes(channel, some, padded) : constant(channel, some, padded);
        MemorySegment.copy(panel, 0, to, at, panel.byteSize());
        at += panel.byteSize();
      }
    }

    private void write(Panel panel) {
      int padded = panel.vectors() * program.emitter().lanes();
      for (int i = 0; i < panel.count(); i++) {
        int channel = panel.channel() + i * panel.channels();
        write(panel.at().plus(i * bytes(padded)), channel, panel.channels(), padded);
      }
    }

    /** The bias, then the weights of each tap, each as long as the vectors are. */
    private MemorySegment constant(int channel, int channels, int padded) {
      int length = (1 + depth) * padded;
      if (packed.length < length) {
        packed = new float[length];
      }
      // What no weight or bias is written over.
      Arrays.fill(packed, 0, padded > channels ? length : padded, 0);
      if (bias.isPresent()) {
        bias.get().copy(channel, channels, packed, 0);
      }
      long from = first + channel * channelStep;
      if (channelStep == 1) {
        for (int k = 0; k < depth; k++) {
          numbers.copy(from + k * depthStep, channels, packed, (1 + k) * padded);
        }
      } else {
        int step = Math.toIntExact(channelStep);
        int count = (channels - 1) * step + depth;
        if (rows.length < count) {
          rows = new float[count];
        }
        numbers.copy(from, count, rows, 0);
        transpose(rows, step, depth, channels, packed, padded);
      }
      return MemorySegment.ofArray(packed).asSlice(0, (long) length * Float.BYTES);
    }

    /** The bias, the factors, then the bytes of each tap, each as long as the vectors are. */
    private MemorySegment bytes(int channel, int channels, int padded) {
      float[] head = new float[2 * padded];
      if (bias.isPresent()) {
        bias.get().copy(channel, channels, head, 0);
      }
      System.arraycopy(factors, channel, head, padded, channels);
      MemorySegment panel = MemorySegment.ofArray(new byte[Math.toIntExact(bytes(padded))]);
      MemorySegment.copy(head, 0, panel, FLOAT, 0, head.length);
      float[] row = new float[depth];
      for (int c = 0; c < channels; c++) {
        copyRow(channel + c, row);
        for (int k = 0; k < depth; k++) {
          byte whole = StoredFactors.stored(row[k], factors[channel + c]);
          panel.set(
              ValueLayout.JAVA_BYTE, 2L * Float.BYTES * padded + (long) k * padded + c, whole);
        }
      }
      return panel;
    }

    /** Has a run write a panel of floats. Elements behind the channels become 0. */
    private void write(Spot panel, int channel, int channels, int padded) {
      int row = padded * Float.BYTES;
      if (bias.isPresent()) {
        program.call(
            new Strided(Float.BYTES, channels, Float.BYTES, Float.BYTES, 0, 0),
            bias.get().place().get().at((long) channel * Float.BYTES),
            panel);
      } else {
        zeros(panel, 0, channels, 0, 1);
      }
      if (padded > channels) {
        zeros(panel, (long) channels * Float.BYTES, padded - channels, row, 1 + depth);
      }
      long from = (first + channel * channelStep) * Float.BYTES;
      boolean isInOrder = channelStep == 1;
      int most = Math.max(1, LONGEST / channels);
      for (int k = 0; k < depth; k += most) {
        int some = Math.min(most, depth - k);
        long to = (1L + k) * row;
        if (isInOrder) {
          int step = Math.toIntExact(depthStep * Float.BYTES);
          Strided copy = new Strided(Float.BYTES, channels, Float.BYTES, Float.BYTES, step, row);
          program.call(
              copy, some, numbers.place().get().at(from + (long) k * step), panel.plus(to));
        } else {
          int step = Math.toIntExact(channelStep * Float.BYTES);
          Transposed columns = new Transposed(channels, some, step, row);
          program.call(
              columns, numbers.place().get().at(from + (long) k * Float.BYTES), panel.plus(to));
        }
      }
    }

    private void zeros(Spot panel, long at, int count, int step, int blocks) {
      Strided fill = new Strided(Float.BYTES, count, 0, Float.BYTES, 0, step);
      program.call(fill, blocks, program.zero().at(0), panel.plus(at));
    }
  }

  /**
   * Writes what stands in rows into columns, behind the first row: in blocks that stay in a cache,
   * and in a loop that is short enough for the JVM to compile soon.
   */
  private static void transpose(
      float[] from, int rowStep, int depth, int channels, float[] to, int step) {
    for (int begin = 0; begin < depth; begin += BLOCK) {
      int end = Math.min(depth, begin + BLOCK);
      for (int c = 0; c < channels; c++) {
        int row = c * rowStep;
        int at = (1 + begin) * step + c;
        for (int k = begin; k < end; k++, at += step) {
          to[at] = from[row + k];
        }
      }
    }
  }
}
