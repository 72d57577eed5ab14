// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.simd.Lanes.FLOATS;

import jdk.incubator.vector.FloatVector;

/**
 * The innermost loops of depthwise convolution: one line of output pixels, one vector of channels.
 * Sums begin with the bias and take the taps in order, whatever the tiling.
 */
final class DepthwiseKernels {
  private DepthwiseKernels() {}

  /**
   * A filter of three by three: its weights stay in registers.
   *
   * @param in padded lines of the input
   * @param line0 where the first tap of the first pixel stands in the upper line, at its channel
   * @param line1 the same in the middle line
   * @param line2 the same in the lower line
   * @param tap distance of two taps
   * @param pixel distance of two pixels
   * @param weights by tap and channel
   * @param channels distance of two taps of the weights
   * @param bias by channel
   * @param channel the first of the vector
   * @param out receives the results of the first pixel at {@code to}
   * @param distance of two pixels of the output
   * @param count of pixels
   */
  static void three(
      float[] in,
      int line0,
      int line1,
      int line2,
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
      Clamp clamp) {
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
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i++) {
      int at = i * pixel;
      FloatVector sum = FloatVector.fromArray(FLOATS, in, line0 + at).fma(weight0, start);
      sum = FloatVector.fromArray(FLOATS, in, line0 + at + tap).fma(weight1, sum);
      sum = FloatVector.fromArray(FLOATS, in, line0 + at + 2 * tap).fma(weight2, sum);
      sum = FloatVector.fromArray(FLOATS, in, line1 + at).fma(weight3, sum);
      sum = FloatVector.fromArray(FLOATS, in, line1 + at + tap).fma(weight4, sum);
      sum = FloatVector.fromArray(FLOATS, in, line1 + at + 2 * tap).fma(weight5, sum);
      sum = FloatVector.fromArray(FLOATS, in, line2 + at).fma(weight6, sum);
      sum = FloatVector.fromArray(FLOATS, in, line2 + at + tap).fma(weight7, sum);
      sum = FloatVector.fromArray(FLOATS, in, line2 + at + 2 * tap).fma(weight8, sum);
      sum.reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(out, to + i * distance);
    }
  }

  /**
   * A filter of any size.
   *
   * @param taps where each tap of the first pixel stands in {@code in}, at channel 0
   */
  static void any(
      float[] in,
      int[] taps,
      int shift,
      int pixel,
      float[] weights,
      int channels,
      float[] bias,
      int channel,
      float[] out,
      int to,
      int distance,
      int count,
      Clamp clamp) {
    FloatVector start = FloatVector.fromArray(FLOATS, bias, channel);
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i++) {
      int at = i * pixel + shift + channel;
      FloatVector sum = start;
      for (int tap = 0; tap < taps.length; tap++) {
        sum =
            FloatVector.fromArray(FLOATS, in, at + taps[tap])
                .fma(FloatVector.fromArray(FLOATS, weights, channel + tap * channels), sum);
      }
      sum.reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .intoArray(out, to + i * distance);
    }
  }
}
