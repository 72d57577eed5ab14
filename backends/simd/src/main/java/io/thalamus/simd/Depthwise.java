// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.model.Shape;
import io.thalamus.operations.Convolution.Parameters;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.Window;
import java.util.Arrays;

/**
 * A depthwise convolution, float or of 8-bit integers. A tile is some lines of the output: the
 * lines of the input that it needs are copied with their padding, as floats less the zero point,
 * channels filled up to whole vectors; hence the kernels have neither borders nor rests. Sums of
 * integers are exact, since there are few taps. Immutable and thread-safe.
 */
final class Depthwise implements Step {
  private final Tensor source;
  private final Tensor output;
  private final Window height;
  private final Window width;
  private final float[] weights;
  private final float[] bias;
  private final Clamp clamp;

  /** Null for floats. */
  private final Requantizer requantizer;

  /** Output channels for each input channel. */
  private final int multiplier;

  /** Output channels, rounded up to whole vectors. */
  private final int padded;

  /** Pixels of a copied line. */
  private final int lineWidth;

  private final int blockLines;
  private final int blocks;

  /** Where the taps stand from the first one on, in copied lines. */
  private final int[] taps;

  private Depthwise(
      Node node,
      Tensor source,
      Tensor output,
      float[] weights,
      float[] bias,
      Requantizer stored,
      Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    this.source = source;
    this.output = output;
    this.height = parameters.height();
    this.width = parameters.width();
    this.weights = weights;
    this.bias = bias;
    this.clamp = Clamp.of(node.activation());
    this.requantizer = stored;
    multiplier = output.dimension(3) / source.dimension(3);
    padded = Lanes.roundUp(output.dimension(3));
    lineWidth = (output.dimension(2) - 1) * width.stride() + width.reach();
    taps = new int[height.size() * width.size()];
    for (int i = 0; i < taps.length; i++) {
      int y = i / width.size() * height.dilation();
      int x = i % width.size() * width.dilation();
      taps[i] = (y * lineWidth + x) * padded;
    }
    int lines = output.dimension(0) * output.dimension(1);
    int tiles = budget.tiles((long) output.size() * taps.length);
    int most = Math.max(1, fitting(Budget.CACHED_FLOATS / (lineWidth * padded)));
    blockLines = Math.clamp(Math.min((lines + tiles - 1) / tiles, most), 1, output.dimension(1));
    blocks = (output.dimension(1) + blockLines - 1) / blockLines;
  }

  /** Output lines whose input lines, so many of them, are at hand. */
  private int fitting(int inputLines) {
    return (inputLines - height.reach()) / height.stride() + 1;
  }

  static Step lower(Node node, Tensors tensors, Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    Tensor source = tensors.input(node, 0);
    Tensor output = new Tensor(tensors.output(node).view(), tensors.output(node).offset());
    OperandView filter = node.operation().view().input(1);
    OperandView bias = node.operation().view().input(2);
    Shape shape = filter.shape();
    int taps = shape.dimension(1) * shape.dimension(2);
    int channels = shape.dimension(3);
    if (parameters.quantized().isEmpty()) {
      float[] weights = pad(Stored.floats(filter.value().orElseThrow()), taps, channels);
      float[] start = pad(Stored.floats(bias.value().orElseThrow()), 1, channels);
      return new Depthwise(node, source, output, weights, start, null, budget);
    }
    int zeroPoint = parameters.quantized().get().filterZeroPoint();
    int[] stored = Stored.bytes(filter.value().orElseThrow(), filter.type());
    float[] weights = new float[stored.length];
    long[] sums = new long[channels];
    long largest = 0;
    for (int i = 0; i < stored.length; i++) {
      weights[i] = stored[i] - zeroPoint;
      sums[i % channels] += (long) Math.abs(stored[i] - zeroPoint) * Products.largestInput(source);
      largest = Math.max(largest, sums[i % channels]);
    }
    Requantizer requantizer =
        new Requantizer(
            parameters.quantized().get(), Stored.ints(bias.value().orElseThrow()), largest);
    return new Depthwise(
        node,
        source,
        output,
        pad(weights, taps, channels),
        pad(new float[0], 1, channels),
        requantizer,
        budget);
  }

  private static float[] pad(float[] values, int rows, int channels) {
    int distance = Lanes.roundUp(channels);
    float[] padded = new float[rows * distance];
    for (int i = 0; i < values.length; i++) {
      padded[i / channels * distance + i % channels] = values[i];
    }
    return padded;
  }

  @Override
  public int tiles() {
    return output.dimension(0) * blocks;
  }

  private int inputLines() {
    return (blockLines - 1) * height.stride() + height.reach();
  }

  /** The copied lines, and behind them one line of sums. */
  @Override
  public int scratchFloats() {
    return inputLines() * lineWidth * padded + output.dimension(2) * padded;
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    int batch = tile / blocks;
    int first = tile % blocks * blockLines;
    int end = Math.min(output.dimension(1), first + blockLines);
    int firstInput = first * height.stride() - height.before();
    int inputs = (end - first - 1) * height.stride() + height.reach();
    for (int line = 0; line < inputs; line++) {
      copyLine(frame, batch, firstInput + line, scratch, Lanes.LEAD + line * lineWidth * padded);
    }
    for (int line = first; line < end; line++) {
      int from = Lanes.LEAD + (line - first) * height.stride() * lineWidth * padded;
      int to =
          output.offset()
              + (batch * output.dimension(1) + line) * output.dimension(2) * output.dimension(3);
      if (requantizer == null && padded == output.dimension(3)) {
        computeLine(scratch.floats, from, frame.floats, to);
      } else {
        int sums = Lanes.LEAD + inputLines() * lineWidth * padded;
        computeLine(scratch.floats, from, scratch.floats, sums);
        storeLine(frame, scratch, sums, to);
      }
    }
  }

  private void copyLine(Frame frame, int batch, int line, Scratch scratch, int to) {
    float[] out = scratch.floats;
    if (line < 0 || line >= source.dimension(1)) {
      Arrays.fill(out, to, to + lineWidth * padded, 0);
      return;
    }
    int channels = source.dimension(3);
    int inputWidth = source.dimension(2);
    int from = source.offset() + (batch * source.dimension(1) + line) * inputWidth * channels;
    int before = Math.min(width.before(), lineWidth);
    int inside = Math.clamp(lineWidth - before, 0, inputWidth);
    Arrays.fill(out, to, to + before * padded, 0);
    int at = to + before * padded;
    if (channels == padded) {
      copy(frame, from, out, at, inside * channels);
    } else {
      for (int x = 0; x < inside; x++) {
        copy(frame, from + x * channels, out, at + x * padded, channels);
        if (multiplier > 1) {
          repeat(out, at + x * padded, channels);
        }
      }
    }
    Arrays.fill(out, at + inside * padded, to + lineWidth * padded, 0);
  }

  private void copy(Frame frame, int from, float[] out, int to, int count) {
    if (source.isFloat()) {
      System.arraycopy(frame.floats, from, out, to, count);
    } else {
      Lanes.toFloats(frame.bytes, from, source.flip(), source.signedZeroPoint(), out, to, count);
    }
  }

  /** Each channel as often as there are outputs of it, from the last one on, in place. */
  private void repeat(float[] out, int at, int channels) {
    for (int i = channels * multiplier - 1; i >= 0; i--) {
      out[at + i] = out[at + i / multiplier];
    }
  }

  private void computeLine(float[] in, int from, float[] out, int to) {
    int pixel = width.stride() * padded;
    int count = output.dimension(2);
    for (int channel = 0; channel < padded; channel += Lanes.COUNT) {
      if (width.size() == 3 && height.size() == 3) {
        int line = height.dilation() * lineWidth * padded;
        DepthwiseKernels.three(
            in,
            from + channel,
            from + channel + line,
            from + channel + 2 * line,
            width.dilation() * padded,
            pixel,
            weights,
            padded,
            bias,
            channel,
            out,
            to + channel,
            padded,
            count,
            clamp);
      } else {
        DepthwiseKernels.any(
            in,
            taps,
            from,
            pixel,
            weights,
            padded,
            bias,
            channel,
            out,
            to + channel,
            padded,
            count,
            clamp);
      }
    }
  }

  private void storeLine(Frame frame, Scratch scratch, int sums, int to) {
    int channels = output.dimension(3);
    for (int x = 0; x < output.dimension(2); x++) {
      if (requantizer == null) {
        System.arraycopy(
            scratch.floats, sums + x * padded, frame.floats, to + x * channels, channels);
      } else {
        requantizer.store(
            scratch.floats,
            sums + x * padded,
            0,
            channels,
            frame.bytes,
            to + x * channels,
            scratch.spareBytes);
      }
    }
  }
}
