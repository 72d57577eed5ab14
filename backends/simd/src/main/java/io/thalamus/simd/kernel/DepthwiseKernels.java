// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static jdk.incubator.vector.VectorOperators.NE;

import jdk.incubator.vector.FloatVector;

/**
 * The innermost loops of depthwise convolution. Sums begin with the bias and take the taps in
 * order, whatever kernel computes them. Weights stand by tap, their channels {@code channels}
 * apart, which is a multiple of a vector's length; lines are arrays of their own, so that one
 * beside the input can be a line of zeros.
 */
public final class DepthwiseKernels {
  private DepthwiseKernels() {}

  /**
   * Three by three taps: the weights of a vector of channels stay in registers over neighbouring
   * pixels.
   *
   * @param at0 where the first tap of the first pixel stands in the upper line, at its channel
   * @param tap distance of two taps
   * @param pixel distance of two pixels
   * @param channel the first of the vector
   * @param out receives the results of the first pixel at {@code to}
   * @param distance of two pixels of the output
   * @param count of pixels
   */
  public static void alongPixels(
      float[] line0,
      int at0,
      float[] line1,
      int at1,
      float[] line2,
      int at2,
      int tap,
      int pixel,
      float[] weights,
      int channels,
      float[] bias,
      int channel,
      float[] out,
      int to,
      int distance,
      int count,
      int low,
      int high) {
    FloatVector weight0 = FloatVector.fromArray(FLOATS, weights, channel);
    FloatVector weight1 = FloatVector.fromArray(FLOATS, weights, channel + channels);
    FloatVector weight2 = FloatVector.fromArray(FLOATS, weights, channel + 2 * channels);
    FloatVector weight3 = FloatVector.fromArray(FLOATS, weights, channel + 3 * channels);
    FloatVector weight4 = FloatVector.fromArray(FLOATS, weights, channel + 4 * channels);
    FloatVector weight5 = FloatVector.fromArray(FLOATS, weights, channel + 5 * channels);
    FloatVector weight6 = FloatVector.fromArray(FLOATS, weights, channel + 6 * channels);
    FloatVector weight7 = FloatVector.fromArray(FLOATS, weights, channel + 7 * channels);
    FloatVector weight8 = FloatVector.fromArray(FLOATS, weights, channel + 8 * channels);
    FloatVector start = FloatVector.fromArray(FLOATS, bias, channel);
    for (int i = 0; i < count; i++) {
      int at = i * pixel;
      FloatVector sum = FloatVector.fromArray(FLOATS, line0, at0 + at).fma(weight0, start);
      sum = FloatVector.fromArray(FLOATS, line0, at0 + at + tap).fma(weight1, sum);
      sum = FloatVector.fromArray(FLOATS, line0, at0 + at + 2 * tap).fma(weight2, sum);
      sum = FloatVector.fromArray(FLOATS, line1, at1 + at).fma(weight3, sum);
      sum = FloatVector.fromArray(FLOATS, line1, at1 + at + tap).fma(weight4, sum);
      sum = FloatVector.fromArray(FLOATS, line1, at1 + at + 2 * tap).fma(weight5, sum);
      sum = FloatVector.fromArray(FLOATS, line2, at2 + at).fma(weight6, sum);
      sum = FloatVector.fromArray(FLOATS, line2, at2 + at + tap).fma(weight7, sum);
      sum = FloatVector.fromArray(FLOATS, line2, at2 + at + 2 * tap).fma(weight8, sum);
      store(sum, low, high, out, to + i * distance);
    }
  }

  /**
   * As {@link #alongPixels} for pixels that stand as far apart as the taps: two of three inputs of
   * a line are those of the pixel before, and stay in registers.
   */
  public static void alongNeighbours(
      float[] line0,
      int at0,
      float[] line1,
      int at1,
      float[] line2,
      int at2,
      int tap,
      float[] weights,
      int channels,
      float[] bias,
      int channel,
      float[] out,
      int to,
      int distance,
      int count,
      int low,
      int high) {
    FloatVector weight0 = FloatVector.fromArray(FLOATS, weights, channel);
    FloatVector weight1 = FloatVector.fromArray(FLOATS, weights, channel + channels);
    FloatVector weight2 = FloatVector.fromArray(FLOATS, weights, channel + 2 * channels);
    FloatVector weight3 = FloatVector.fromArray(FLOATS, weights, channel + 3 * channels);
    FloatVector weight4 = FloatVector.fromArray(FLOATS, weights, channel + 4 * channels);
    FloatVector weight5 = FloatVector.fromArray(FLOATS, weights, channel + 5 * channels);
    FloatVector weight6 = FloatVector.fromArray(FLOATS, weights, channel + 6 * channels);
    FloatVector weight7 = FloatVector.fromArray(FLOATS, weights, channel + 7 * channels);
    FloatVector weight8 = FloatVector.fromArray(FLOATS, weights, channel + 8 * channels);
    FloatVector start = FloatVector.fromArray(FLOATS, bias, channel);
    FloatVector left0 = FloatVector.fromArray(FLOATS, line0, at0);
    FloatVector middle0 = FloatVector.fromArray(FLOATS, line0, at0 + tap);
    FloatVector left1 = FloatVector.fromArray(FLOATS, line1, at1);
    FloatVector middle1 = FloatVector.fromArray(FLOATS, line1, at1 + tap);
    FloatVector left2 = FloatVector.fromArray(FLOATS, line2, at2);
    FloatVector middle2 = FloatVector.fromArray(FLOATS, line2, at2 + tap);
    for (int i = 0; i < count; i++) {
      int at = (i + 2) * tap;
      FloatVector right0 = FloatVector.fromArray(FLOATS, line0, at0 + at);
      FloatVector right1 = FloatVector.fromArray(FLOATS, line1, at1 + at);
      FloatVector right2 = FloatVector.fromArray(FLOATS, line2, at2 + at);
      FloatVector sum = left0.fma(weight0, start);
      sum = middle0.fma(weight1, sum);
      sum = right0.fma(weight2, sum);
      sum = left1.fma(weight3, sum);
      sum = middle1.fma(weight4, sum);
      sum = right1.fma(weight5, sum);
      sum = left2.fma(weight6, sum);
      sum = middle2.fma(weight7, sum);
      sum = right2.fma(weight8, sum);
      store(sum, low, high, out, to + i * distance);
      left0 = middle0;
      middle0 = right0;
      left1 = middle1;
      middle1 = right1;
      left2 = middle2;
      middle2 = right2;
    }
  }

  /**
   * Three by three taps, two pixels that stand twice as far apart as the taps.
   *
   * @param tap distance of two taps, half of that of the two pixels
   * @param count of channels; whole vectors
   */
  public static void twoApart(
      float[] line0,
      int at0,
      float[] line1,
      int at1,
      float[] line2,
      int at2,
      int tap,
      float[] weights,
      int channels,
      float[] bias,
      float[] out,
      int to,
      int distance,
      int count,
      int low,
      int high) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector start = FloatVector.fromArray(FLOATS, bias, i);
      FloatVector x0 = FloatVector.fromArray(FLOATS, line0, at0 + i);
      FloatVector x1 = FloatVector.fromArray(FLOATS, line0, at0 + i + tap);
      FloatVector x2 = FloatVector.fromArray(FLOATS, line0, at0 + i + 2 * tap);
      FloatVector x3 = FloatVector.fromArray(FLOATS, line0, at0 + i + 3 * tap);
      FloatVector x4 = FloatVector.fromArray(FLOATS, line0, at0 + i + 4 * tap);
      FloatVector weight = FloatVector.fromArray(FLOATS, weights, i);
      FloatVector sum0 = x0.fma(weight, start);
      FloatVector sum1 = x2.fma(weight, start);
      weight = FloatVector.fromArray(FLOATS, weights, i + channels);
      sum0 = x1.fma(weight, sum0);
      sum1 = x3.fma(weight, sum1);
      weight = FloatVector.fromArray(FLOATS, weights, i + 2 * channels);
      sum0 = x2.fma(weight, sum0);
      sum1 = x4.fma(weight, sum1);
      x0 = FloatVector.fromArray(FLOATS, line1, at1 + i);
      x1 = FloatVector.fromArray(FLOATS, line1, at1 + i + tap);
      x2 = FloatVector.fromArray(FLOATS, line1, at1 + i + 2 * tap);
      x3 = FloatVector.fromArray(FLOATS, line1, at1 + i + 3 * tap);
      x4 = FloatVector.fromArray(FLOATS, line1, at1 + i + 4 * tap);
      weight = FloatVector.fromArray(FLOATS, weights, i + 3 * channels);
      sum0 = x0.fma(weight, sum0);
      sum1 = x2.fma(weight, sum1);
      weight = FloatVector.fromArray(FLOATS, weights, i + 4 * channels);
      sum0 = x1.fma(weight, sum0);
      sum1 = x3.fma(weight, sum1);
      weight = FloatVector.fromArray(FLOATS, weights, i + 5 * channels);
      sum0 = x2.fma(weight, sum0);
      sum1 = x4.fma(weight, sum1);
      x0 = FloatVector.fromArray(FLOATS, line2, at2 + i);
      x1 = FloatVector.fromArray(FLOATS, line2, at2 + i + tap);
      x2 = FloatVector.fromArray(FLOATS, line2, at2 + i + 2 * tap);
      x3 = FloatVector.fromArray(FLOATS, line2, at2 + i + 3 * tap);
      x4 = FloatVector.fromArray(FLOATS, line2, at2 + i + 4 * tap);
      weight = FloatVector.fromArray(FLOATS, weights, i + 6 * channels);
      sum0 = x0.fma(weight, sum0);
      sum1 = x2.fma(weight, sum1);
      weight = FloatVector.fromArray(FLOATS, weights, i + 7 * channels);
      sum0 = x1.fma(weight, sum0);
      sum1 = x3.fma(weight, sum1);
      weight = FloatVector.fromArray(FLOATS, weights, i + 8 * channels);
      sum0 = x2.fma(weight, sum0);
      sum1 = x4.fma(weight, sum1);
      sum0.intoArray(out, to + i);
      sum1.intoArray(out, to + i + distance);
    }
    clamp(out, to, count, low, high);
    clamp(out, to + distance, count, low, high);
  }

  /**
   * One pixel at an end of a line, where three lines of two taps are left.
   *
   * @param tap distance of the two taps
   * @param weightAt where the weights of the first one stand
   * @param count of channels; whole vectors
   */
  public static void twoTaps(
      float[] line0,
      int at0,
      float[] line1,
      int at1,
      float[] line2,
      int at2,
      int tap,
      float[] weights,
      int weightAt,
      int channels,
      float[] bias,
      float[] out,
      int to,
      int count,
      int low,
      int high) {
    for (int i = 0; i < count; i += COUNT) {
      int at = weightAt + i;
      FloatVector sum = FloatVector.fromArray(FLOATS, bias, i);
      sum =
          FloatVector.fromArray(FLOATS, line0, at0 + i)
              .fma(FloatVector.fromArray(FLOATS, weights, at), sum);
      sum =
          FloatVector.fromArray(FLOATS, line0, at0 + i + tap)
              .fma(FloatVector.fromArray(FLOATS, weights, at + channels), sum);
      sum =
          FloatVector.fromArray(FLOATS, line1, at1 + i)
              .fma(FloatVector.fromArray(FLOATS, weights, at + 3 * channels), sum);
      sum =
          FloatVector.fromArray(FLOATS, line1, at1 + i + tap)
              .fma(FloatVector.fromArray(FLOATS, weights, at + 4 * channels), sum);
      sum =
          FloatVector.fromArray(FLOATS, line2, at2 + i)
              .fma(FloatVector.fromArray(FLOATS, weights, at + 6 * channels), sum);
      sum =
          FloatVector.fromArray(FLOATS, line2, at2 + i + tap)
              .fma(FloatVector.fromArray(FLOATS, weights, at + 7 * channels), sum);
      store(sum, low, high, out, to + i);
    }
  }

  /**
   * One pixel, any rectangle of taps: filters of any size, and windows that are cut at a border.
   *
   * @param in the input
   * @param at where the first tap stands
   * @param line distance of two lines of taps
   * @param tap distance of two taps of a line
   * @param height lines of taps
   * @param width taps of a line
   * @param weightAt where the weights of the first tap stand
   * @param weightLine distance of two lines of weights
   * @param count of channels; whole vectors
   */
  public static void rectangle(
      float[] in,
      int at,
      int line,
      int tap,
      int height,
      int width,
      float[] weights,
      int weightAt,
      int weightLine,
      int channels,
      float[] bias,
      float[] out,
      int to,
      int count,
      int low,
      int high) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector sum = FloatVector.fromArray(FLOATS, bias, i);
      for (int y = 0; y < height; y++) {
        int from = at + y * line + i;
        int weight = weightAt + y * weightLine + i;
        for (int x = 0; x < width; x++) {
          sum =
              FloatVector.fromArray(FLOATS, in, from + x * tap)
                  .fma(FloatVector.fromArray(FLOATS, weights, weight + x * channels), sum);
        }
      }
      store(sum, low, high, out, to + i);
    }
  }

  /**
   * As {@link #rectangle} for four pixels: one sum alone waits for the latency of each addition,
   * and reads the weights of each tap for itself. Nothing is clamped: see {@link #clamp}.
   *
   * @param pixel distance of two pixels of the input
   * @param channels of a pixel of the output; whole vectors
   */
  public static void fourRectangles(
      float[] in,
      int at,
      int pixel,
      int line,
      int tap,
      int height,
      int width,
      float[] weights,
      int weightAt,
      int weightLine,
      int channels,
      float[] bias,
      float[] out,
      int to) {
    for (int i = 0; i < channels; i += COUNT) {
      FloatVector start = FloatVector.fromArray(FLOATS, bias, i);
      FloatVector sum0 = start;
      FloatVector sum1 = start;
      FloatVector sum2 = start;
      FloatVector sum3 = start;
      for (int y = 0; y < height; y++) {
        int from = at + y * line + i;
        int first = weightAt + y * weightLine + i;
        for (int x = 0; x < width; x++) {
          int from0 = from + x * tap;
          FloatVector weight = FloatVector.fromArray(FLOATS, weights, first + x * channels);
          sum0 = FloatVector.fromArray(FLOATS, in, from0).fma(weight, sum0);
          sum1 = FloatVector.fromArray(FLOATS, in, from0 + pixel).fma(weight, sum1);
          sum2 = FloatVector.fromArray(FLOATS, in, from0 + 2 * pixel).fma(weight, sum2);
          sum3 = FloatVector.fromArray(FLOATS, in, from0 + 3 * pixel).fma(weight, sum3);
        }
      }
      sum0.intoArray(out, to + i);
      sum1.intoArray(out, to + i + channels);
      sum2.intoArray(out, to + i + 2 * channels);
      sum3.intoArray(out, to + i + 3 * channels);
    }
  }

  /**
   * As {@link #fourRectangles} for lines of five taps, and pixels that stand as far apart as these:
   * eight inputs of a line are read in place of twenty.
   */
  public static void fourOfFive(
      float[] in,
      int at,
      int line,
      int tap,
      int height,
      float[] weights,
      int weightAt,
      int channels,
      float[] bias,
      float[] out,
      int to) {
    for (int i = 0; i < channels; i += COUNT) {
      FloatVector start = FloatVector.fromArray(FLOATS, bias, i);
      FloatVector sum0 = start;
      FloatVector sum1 = start;
      FloatVector sum2 = start;
      FloatVector sum3 = start;
      for (int y = 0; y < height; y++) {
        int from = at + y * line + i;
        int first = weightAt + y * 5 * channels + i;
        FloatVector in0 = FloatVector.fromArray(FLOATS, in, from);
        FloatVector in1 = FloatVector.fromArray(FLOATS, in, from + tap);
        FloatVector in2 = FloatVector.fromArray(FLOATS, in, from + 2 * tap);
        FloatVector in3 = FloatVector.fromArray(FLOATS, in, from + 3 * tap);
        FloatVector weight = FloatVector.fromArray(FLOATS, weights, first);
        sum0 = in0.fma(weight, sum0);
        sum1 = in1.fma(weight, sum1);
        sum2 = in2.fma(weight, sum2);
        sum3 = in3.fma(weight, sum3);
        FloatVector in4 = FloatVector.fromArray(FLOATS, in, from + 4 * tap);
        weight = FloatVector.fromArray(FLOATS, weights, first + channels);
        sum0 = in1.fma(weight, sum0);
        sum1 = in2.fma(weight, sum1);
        sum2 = in3.fma(weight, sum2);
        sum3 = in4.fma(weight, sum3);
        FloatVector in5 = FloatVector.fromArray(FLOATS, in, from + 5 * tap);
        weight = FloatVector.fromArray(FLOATS, weights, first + 2 * channels);
        sum0 = in2.fma(weight, sum0);
        sum1 = in3.fma(weight, sum1);
        sum2 = in4.fma(weight, sum2);
        sum3 = in5.fma(weight, sum3);
        FloatVector in6 = FloatVector.fromArray(FLOATS, in, from + 6 * tap);
        weight = FloatVector.fromArray(FLOATS, weights, first + 3 * channels);
        sum0 = in3.fma(weight, sum0);
        sum1 = in4.fma(weight, sum1);
        sum2 = in5.fma(weight, sum2);
        sum3 = in6.fma(weight, sum3);
        FloatVector in7 = FloatVector.fromArray(FLOATS, in, from + 7 * tap);
        weight = FloatVector.fromArray(FLOATS, weights, first + 4 * channels);
        sum0 = in4.fma(weight, sum0);
        sum1 = in5.fma(weight, sum1);
        sum2 = in6.fma(weight, sum2);
        sum3 = in7.fma(weight, sum3);
      }
      sum0.intoArray(out, to + i);
      sum1.intoArray(out, to + i + channels);
      sum2.intoArray(out, to + i + 2 * channels);
      sum3.intoArray(out, to + i + 3 * channels);
    }
  }

  /**
   * Clamps results, where anything is to be clamped. Apart from kernels whose loops are all that
   * the JVM's compiler takes at once.
   */
  public static void clamp(float[] out, int at, int count, int low, int high) {
    if (low == Clamp.NONE.low() && high == Clamp.NONE.high()) {
      return;
    }
    for (int i = at; i < at + count; i += COUNT) {
      store(FloatVector.fromArray(FLOATS, out, i), low, high, out, i);
    }
  }

  private static void store(FloatVector sum, int low, int high, float[] out, int at) {
    sum.reinterpretAsInts()
        .max(low)
        .min(high)
        .reinterpretAsFloats()
        .blend(sum, sum.compare(NE, sum))
        .intoArray(out, at);
  }
}
