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
      return ByteBuffer.wrap(constant.orElseThrow().toArray(ValueLayout.JAVA_BYTE));
    }

    /** Copies some of the numbers, if they are known. */
    void copy(long element, int count, float[] to, int at) {
      MemorySegment.copy(constant.orElseThrow(), FLOAT, element * Float.BYTES, to, at, count);
    }
  }

  boolean isConstant() {
    return numbers.isConstant() && bias.stream().allMatch(Source::isConstant);
  }

  /**
   * All that decides on a panel.
   *
   * @param bias of its channels
   * @param padded elements of a row
   */
  private record Key(
      Identity numbers,
      Optional<ByteBuffer> bias,
      long first,
      long depthStep,
      long channelStep,
      int depth,
      int channel,
      int channels,
      int padded) {}

  /** Packs panels, one after the other, of one layer. Used once. */
  final class Packer {
    private final ProgramBuilder program;
    private final int depth;

    /** A panel, and the rows that it is made of: each is used again for the next one. */
    private float[] packed = {};

    private float[] rows = {};

    /** The bias of all channels, if it is known. */
    private Optional<ByteBuffer> known = Optional.empty();

    /**
     * A packer.
     *
     * @param depth weights of a channel
     */
    Packer(ProgramBuilder program, int depth) {
      this.program = program;
      this.depth = depth;
    }

    /**
     * Packs all panels.
     *
     * @param vectors of a panel; the last one may have fewer
     */
    List<Panel> pack(int channels, int vectors) {
      if (isConstant()) {
        known = bias.map(Source::bytes);
      }
      List<Panel> panels = new ArrayList<>();
      int width = vectors * program.emitter().lanes();
      for (int channel = 0; channel < channels; channel += width) {
        panels.add(panel(channel, Math.min(width, channels - channel)));
      }
      return panels;
    }

    private Panel panel(int channel, int channels) {
      int lanes = program.emitter().lanes();
      int vectors = Math.ceilDiv(channels, lanes);
      if (!isConstant()) {
        Place place = program.place((1 + (long) depth) * vectors * lanes * Float.BYTES);
        write(place, channel, channels, vectors * lanes);
        return new Panel(channel, channels, vectors, place.at(0));
      }
      int padded = vectors * lanes;
      long at =
          program
              .constant(
                  numbers.identity().map(identity -> key(identity, channel, channels, padded)),
                  () -> new Packed(constant(channel, channels, padded), null))
              .at();
      return new Panel(channel, channels, vectors, Spot.ofConstant(at));
    }

    private Key key(Identity identity, int channel, int channels, int padded) {
      return new Key(
          identity,
          known.map(all -> all.slice(channel * Float.BYTES, channels * Float.BYTES)),
          first,
          depthStep,
          channelStep,
          depth,
          channel,
          channels,
          padded);
    }

    /** The bias, then the weights of each tap, each as long as the vectors are. */
    private MemorySegment constant(int channel, int channels, int padded) {
      int length = (1 + depth) * padded;
      if (packed.length < length) {
        packed = new float[length];
      }
      Arrays.fill(packed, 0, length, 0);
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

    /** Has a run write the same. Elements behind the channels become 0. */
    private void write(Place panel, int channel, int channels, int padded) {
      int row = padded * Float.BYTES;
      if (bias.isPresent()) {
        program.call(
            new Strided(Float.BYTES, channels, Float.BYTES, Float.BYTES, 0, 0),
            bias.get().place().get().at((long) channel * Float.BYTES),
            panel.at(0));
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
          program.call(copy, some, numbers.place().get().at(from + (long) k * step), panel.at(to));
        } else {
          int step = Math.toIntExact(channelStep * Float.BYTES);
          Transposed columns = new Transposed(channels, some, step, row);
          program.call(
              columns, numbers.place().get().at(from + (long) k * Float.BYTES), panel.at(to));
        }
      }
    }

    private void zeros(Place panel, long at, int count, int step, int blocks) {
      Strided fill = new Strided(Float.BYTES, count, 0, Float.BYTES, 0, step);
      program.call(fill, blocks, program.zero().at(0), panel.at(at));
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
