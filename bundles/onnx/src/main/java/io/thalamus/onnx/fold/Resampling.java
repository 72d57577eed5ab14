// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.fold;

import io.thalamus.onnx.file.Refusal;

/**
 * The way ONNX's Resize samples one axis.
 *
 * @param input elements of the axis
 * @param output elements of the result
 * @param scale how many of the result stand for one of the axis
 * @param mode {@code nearest}, {@code linear} or {@code cubic}
 * @param transformation how places are counted
 * @param nearest how places are rounded
 * @param cubic the coefficient of the cubic
 * @param excludesOutside whether neighbours outside count nothing, instead of being repeated
 * @param isSmoothed whether the filter is stretched where the result is smaller
 * @param start of the cut, as a part of the axis
 * @param end of the cut, as a part of the axis
 */
public record Resampling(
    int input,
    int output,
    double scale,
    String mode,
    String transformation,
    String nearest,
    double cubic,
    boolean excludesOutside,
    boolean isSmoothed,
    double start,
    double end) {

  /**
   * The place in the axis of an element of the result: in floats, as ONNX Runtime computes it,
   * since the nearest element hangs on the last bit where a place is between two.
   */
  private float place(int i) {
    float factor = (float) scale;
    float length = (float) (input * scale);
    float middle = (i + 0.5f) / factor;
    return switch (transformation) {
      case "asymmetric" -> i / factor;
      case "half_pixel" -> middle - 0.5f;
      case "pytorch_half_pixel" -> output > 1 ? middle - 0.5f : 0;
      case "tf_half_pixel_for_nn" -> middle;
      case "align_corners" -> length == 1 ? 0 : (float) i * (input - 1) / (length - 1);
      case "half_pixel_symmetric" -> {
        float offset = input / 2f * (1 - output / length);
        yield (float) (offset + (i + 0.5) / factor - 0.5);
      }
      case "tf_crop_and_resize" -> {
        float first = (float) start;
        float last = (float) end;
        yield output > 1
            ? first * (input - 1) + i * (last - first) * (input - 1) / (output - 1)
            : (float) (0.5 * (first + last) * (input - 1));
      }
      default -> throw new Refusal("its coordinates are transformed by " + transformation);
    };
  }

  /**
   * The two elements of the axis that each element of the result stands between, with their factors
   * as ONNX Runtime rounds them.
   */
  public record Neighbours(int[] low, int[] high, float[] ofLow, float[] ofHigh) {
    /** Returns whether each factor is a multiple of {@code 1 / parts}. */
    public boolean isMultiple(int parts) {
      for (float factor : ofHigh) {
        if (factor * parts != Math.rint(factor * parts)) {
          return false;
        }
      }
      return true;
    }
  }

  /** The neighbours by linear interpolation, which repeats the ends of the axis. */
  public Neighbours neighbours() {
    Neighbours all =
        new Neighbours(new int[output], new int[output], new float[output], new float[output]);
    for (int i = 0; i < output; i++) {
      float place = Math.clamp(scale == 1 ? i : place(i), 0f, input - 1f);
      all.low[i] = (int) place;
      all.high[i] = Math.min(all.low[i] + 1, input - 1);
      boolean isEnd = all.low[i] == all.high[i];
      all.ofLow[i] = isEnd ? 0.5f : all.high[i] - place;
      all.ofHigh[i] = isEnd ? 0.5f : place - all.low[i];
    }
    return all;
  }

  /** For each element of the result the factors of all elements of the axis. */
  public double[][] weights() {
    double[][] weights = new double[output][input];
    for (int i = 0; i < output; i++) {
      double place = place(i);
      switch (mode) {
        case "nearest" -> weights[i][Math.clamp(rounded(place), 0, input - 1)] = 1;
        case "linear" -> fill(weights[i], place, 1);
        case "cubic" -> fill(weights[i], place, 2);
        default -> throw new Refusal("its mode is " + mode);
      }
    }
    return weights;
  }

  private int rounded(double place) {
    return (int)
        switch (nearest) {
          case "floor" -> Math.floor(place);
          case "simple" -> scale < 1 ? Math.ceil(place) : Math.floor(place);
          case "ceil" -> Math.ceil(place);
          case "round_prefer_floor" -> Math.ceil(place - 0.5);
          case "round_prefer_ceil" -> Math.floor(place + 0.5);
          default -> throw new Refusal("its places are rounded by " + nearest);
        };
  }

  private void fill(double[] weights, double place, int reach) {
    double stretch = isSmoothed && scale < 1 ? scale : 1;
    double radius = reach / stretch;
    int first = (int) Math.floor(place - radius) + 1;
    int last = (int) Math.ceil(place + radius) - 1;
    if (!isSmoothed || scale >= 1) {
      first = (int) Math.floor(place) - reach + 1;
      last = (int) Math.floor(place) + reach;
    }
    double sum = 0;
    for (int k = first; k <= last; k++) {
      double distance = Math.abs(place - k) * stretch;
      double weight = reach == 1 ? Math.max(0, 1 - distance) : cubic(distance);
      boolean isInside = k >= 0 && k < input;
      if (excludesOutside && !isInside) {
        continue;
      }
      weights[Math.clamp(k, 0, input - 1)] += weight;
      sum += weight;
    }
    if (excludesOutside || isSmoothed) {
      for (int k = 0; k < input; k++) {
        weights[k] /= sum;
      }
    }
  }

  private double cubic(double x) {
    double a = cubic;
    if (x <= 1) {
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
  }

  /** For each element of the result 1 where its place is outside of the axis, else 0. */
  public double[] outside() {
    double[] outside = new double[output];
    for (int i = 0; i < output; i++) {
      double place = place(i);
      outside[i] = place < 0 || place > input - 1 ? 1 : 0;
    }
    return outside;
  }
}
