// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static jdk.incubator.vector.VectorOperators.NE;

import io.thalamus.simd.compile.Pooling.Windows;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.ScalarKernels;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Tensor;
import jdk.incubator.vector.FloatVector;

/**
 * The mean or the largest of the floats under each window. Immutable and thread-safe.
 *
 * <p>The loops call no methods of ours: one that the JVM does not inline would make each vector an
 * object.
 */
public final class FloatPool extends UnitStep {
  private final boolean isMaximum;
  private final Windows windows;
  private final Tensor output;
  private final Clamp clamp;

  FloatPool(boolean isMaximum, Windows windows, Tensor output, Clamp clamp, int lines, int tiles) {
    super(lines, tiles);
    this.isMaximum = isMaximum;
    this.windows = windows;
    this.output = output;
    this.clamp = clamp;
  }

  @Override
  void run(Frame frame, Scratch scratch, int first, int end) {
    float[] in = frame.floats(windows.input());
    float[] out = frame.floats(output);
    for (int line = first; line < end; line++) {
      for (int x = 0; x < windows.outputWidth(); x++) {
        pixel(frame.isScalar, in, line, x, out, scratch.spareFloats);
      }
    }
  }

  private void pixel(boolean isScalar, float[] in, int line, int x, float[] out, float[] spare) {
    int height = windows.lines(line);
    int width = windows.pixels(x);
    int channels = windows.input().dimension(3);
    int lineSize = windows.input().dimension(2) * channels;
    int from = windows.at(line, x);
    int to = output.offset() + (line * windows.outputWidth() + x) * channels;
    if (isScalar) {
      ScalarKernels.pool(isMaximum, in, from, lineSize, channels, height, width, out, to, clamp);
      return;
    }
    int whole = channels / COUNT * COUNT;
    int rest = channels - whole;
    pixel(in, from, whole, lineSize, channels, height, width, out, to);
    if (rest > 0) {
      pixel(in, from + whole, rest, lineSize, channels, height, width, spare, 0);
      System.arraycopy(spare, 0, out, to + whole, rest);
    }
  }

  private void pixel(
      float[] in,
      int from,
      int count,
      int lineSize,
      int channels,
      int height,
      int width,
      float[] out,
      int to) {
    if (isMaximum) {
      maximum(in, from, count, lineSize, channels, height, width, out, to);
    } else {
      mean(in, from, count, lineSize, channels, height, width, out, to);
    }
  }

  private void mean(
      float[] in,
      int from,
      int count,
      int lineSize,
      int channels,
      int height,
      int width,
      float[] out,
      int to) {
    int low = clamp.low();
    int high = clamp.high();
    float cells = (float) height * width;
    for (int i = 0; i < count; i += COUNT) {
      FloatVector sum = FloatVector.zero(FLOATS);
      for (int y = 0; y < height; y++) {
        int at = from + y * lineSize + i;
        for (int x = 0; x < width; x++) {
          sum = sum.add(FloatVector.fromArray(FLOATS, in, at + x * channels));
        }
      }
      FloatVector mean = sum.div(cells);
      mean.reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(mean, mean.compare(NE, mean))
          .intoArray(out, to + i);
    }
  }

  private void maximum(
      float[] in,
      int from,
      int count,
      int lineSize,
      int channels,
      int height,
      int width,
      float[] out,
      int to) {
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i += COUNT) {
      FloatVector maximum = FloatVector.broadcast(FLOATS, Float.NEGATIVE_INFINITY);
      for (int y = 0; y < height; y++) {
        int at = from + y * lineSize + i;
        for (int x = 0; x < width; x++) {
          maximum = maximum.max(FloatVector.fromArray(FLOATS, in, at + x * channels));
        }
      }
      maximum
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(maximum, maximum.compare(NE, maximum))
          .intoArray(out, to + i);
    }
  }
}
