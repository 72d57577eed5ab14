// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Window;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.kernel.Emitter;
import io.thalamus.x86.kernel.PaddedRows;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.WidenedRows;
import java.util.List;
import java.util.Optional;

/**
 * A convolution of stored bytes, channels last.
 *
 * @param weights by output channel, tap and channel, or, where each channel sees itself alone, by
 *     tap and channel
 * @param accumulation without factors where sums of 32 bits are the results
 */
record StoredLayer(
    int batches,
    int sourceHeight,
    int sourceWidth,
    int channels,
    int resultHeight,
    int resultWidth,
    int resultChannels,
    Window height,
    Window width,
    boolean isSigned,
    StoredWeights weights,
    int[] bias,
    Accumulation accumulation) {
  /** Bytes that a call copies: some tens of microseconds. */
  private static final int MOST_COPIED = 1 << 18;

  boolean isPadded() {
    return height.before() + height.after() + width.before() + width.after() > 0;
  }

  int paddedHeight() {
    return sourceHeight + height.before() + height.after();
  }

  int paddedWidth() {
    return sourceWidth + width.before() + width.after();
  }

  /** Returns the same layer with all results beside each other, where what they see is so too. */
  StoredLayer flat() {
    boolean isPointwise =
        height.size() == 1 && width.size() == 1 && height.stride() == 1 && width.stride() == 1;
    return isPadded() || !isPointwise
        ? this
        : new StoredLayer(
            1,
            1,
            batches * sourceHeight * sourceWidth,
            channels,
            1,
            batches * resultHeight * resultWidth,
            resultChannels,
            height,
            width,
            isSigned,
            weights,
            bias,
            accumulation);
  }

  /** Returns the same layer over a source with other channels. */
  StoredLayer seeing(int cell) {
    return cell == channels
        ? this
        : new StoredLayer(
            batches,
            sourceHeight,
            sourceWidth,
            cell,
            resultHeight,
            resultWidth,
            resultChannels,
            height,
            width,
            isSigned,
            weights,
            bias,
            accumulation);
  }

  /** Returns the bytes of a result, which is a sum where there is no way to stored bytes. */
  int resultBytes() {
    return accumulation.output().isEmpty() ? Integer.BYTES : Byte.BYTES;
  }

  /** Returns the way from sums to stored bytes; empty where results are sums. */
  Optional<Scaling> scaling() {
    List<Requantization> factors = accumulation.output();
    if (factors.isEmpty()) {
      return Optional.empty();
    }
    int zeroPoint = accumulation.outputZeroPoint();
    IntRange range = accumulation.activation();
    return Optional.of(
        hasFew()
            ? Scaling.inCode(factors, zeroPoint, range)
            : Scaling.of(factors, zeroPoint, range));
  }

  /** Returns whether weights are hardly used more than once. */
  boolean hasFew() {
    return (long) batches * resultHeight * resultWidth <= Convolution.FEW;
  }

  /**
   * Copies the source, with its padding.
   *
   * @param isWide whether to words less the zero point
   */
  Place copy(ProgramBuilder program, Place from, boolean isWide) {
    int size = isWide ? Short.BYTES : 1;
    int row = sourceWidth * channels;
    long padded = (long) paddedWidth() * channels * size;
    Place to = program.place(batches * paddedHeight() * padded);
    int before = width.before() * channels;
    int after = width.after() * channels;
    int zeroPoint = accumulation.inputZeroPoint();
    byte value = isWide ? 0 : (byte) zeroPoint;
    PaddedRows padding = new PaddedRows((int) padded, 0, 0, value);
    int most = (int) Math.max(1, MOST_COPIED / padded);
    for (int b = 0; b < batches; b++) {
      long at = b * paddedHeight() * padded;
      if (height.before() > 0) {
        program.call(padding, height.before(), from.at(0), to.at(at));
      }
      at += height.before() * padded;
      program.callInParts(
          isWide
              ? new WidenedRows(before, row, after, zeroPoint, isSigned)
              : new PaddedRows(before, row, after, value),
          sourceHeight,
          most,
          from.at((long) b * sourceHeight * row),
          to.at(at));
      at += sourceHeight * padded;
      if (height.after() > 0) {
        program.call(padding, height.after(), from.at(0), to.at(at));
      }
    }
    return to;
  }

  /** Returns how long vectors should be for some channels: not much longer than those. */
  static Length length(Emitter emitter, int channels) {
    return channels <= Rescale.pair(Length.YMM) ? Length.YMM : emitter.length();
  }
}
