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

/** The mean or the largest of the floats under each window. Immutable and thread-safe. */
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
    // Two loops: vectors of two sources in one variable would be objects.
    if (isMaximum) {
      for (int i = 0; i < whole; i += COUNT) {
        clamp(maximum(in, from + i, lineSize, channels, height, width)).intoArray(out, to + i);
      }
      if (rest > 0) {
        clamp(maximum(in, from + whole, lineSize, channels, height, width)).intoArray(spare, 0);
      }
    } else {
      float cells = (float) height * width;
      for (int i = 0; i < whole; i += COUNT) {
        clamp(sum(in, from + i, lineSize, channels, height, width).div(cells))
            .intoArray(out, to + i);
      }
      if (rest > 0) {
        clamp(sum(in, from + whole, lineSize, channels, height, width).div(cells))
            .intoArray(spare, 0);
      }
    }
    System.arraycopy(spare, 0, out, to + whole, rest);
  }

  private FloatVector clamp(FloatVector value) {
    return value
        .reinterpretAsInts()
        .max(clamp.low())
        .min(clamp.high())
        .reinterpretAsFloats()
        .blend(value, value.compare(NE, value));
  }

  private static FloatVector sum(
      float[] in, int from, int lineSize, int channels, int height, int width) {
    FloatVector sum = FloatVector.zero(FLOATS);
    for (int y = 0; y < height; y++) {
      int at = from + y * lineSize;
      for (int x = 0; x < width; x++) {
        sum = sum.add(FloatVector.fromArray(FLOATS, in, at + x * channels));
      }
    }
    return sum;
  }

  private static FloatVector maximum(
      float[] in, int from, int lineSize, int channels, int height, int width) {
    FloatVector maximum = FloatVector.broadcast(FLOATS, Float.NEGATIVE_INFINITY);
    for (int y = 0; y < height; y++) {
      int at = from + y * lineSize;
      for (int x = 0; x < width; x++) {
        maximum = maximum.max(FloatVector.fromArray(FLOATS, in, at + x * channels));
      }
    }
    return maximum;
  }
}
