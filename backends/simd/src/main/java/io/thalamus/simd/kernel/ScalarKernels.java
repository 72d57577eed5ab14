// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

/**
 * Scalar twins of the vector kernels, with the same sums in the same order and so the same bits.
 * Code on vectors is some hundred times slower before the JVM has compiled it than after; these are
 * not, and compute the first executions.
 */
public final class ScalarKernels {
  /** Columns whose sums are in registers. */
  private static final int COLUMNS = 8;

  private ScalarKernels() {}

  /**
   * Rows times the panel that is copied to them; the twin of {@link MatrixKernels} and {@link
   * BroadKernels}.
   */
  static void product(
      Rows rows,
      int width,
      int depth,
      float[] bias,
      float[] zeros,
      int column,
      int present,
      Clamp clamp) {
    float[] added = rows.added == null ? zeros : rows.added;
    for (int row = 0; row < rows.count; row++) {
      int left = rows.leftAt + row * Rows.DISTANCE;
      int addedAt = rows.addedAt + row * rows.addedDistance + column;
      int to = rows.resultAt + row * rows.resultDistance + column;
      row(
          rows.left,
          left,
          0,
          1,
          rows.panel,
          width,
          depth,
          bias,
          column,
          added,
          addedAt,
          rows.result,
          to,
          present,
          clamp);
    }
  }

  /** A single row, whose sums are those of parts; the twin of {@link SingleKernels}. */
  static void divided(
      Rows rows,
      int width,
      int depth,
      float[] bias,
      float[] zeros,
      int column,
      int present,
      Clamp clamp) {
    float[] sums = rows.tile;
    for (int part = 0; part < SingleKernels.PARTS; part++) {
      boolean isFirst = part == 0;
      boolean isAdded = isFirst && rows.added != null;
      row(
          rows.left,
          rows.leftAt,
          part,
          SingleKernels.PARTS,
          rows.panel,
          width,
          depth,
          isFirst ? bias : zeros,
          column,
          isAdded ? rows.added : zeros,
          isAdded ? rows.addedAt + column : column,
          sums,
          part * width,
          present,
          Clamp.NONE);
    }
    for (int i = 0; i < present; i++) {
      float sum = sums[i] + sums[width + i] + (sums[2 * width + i] + sums[3 * width + i]);
      rows.result[rows.resultAt + column + i] = clamp.apply(sum);
    }
  }

  /** The sums of a row, of every so manieth k from the first one on. */
  private static void row(
      float[] left,
      int leftAt,
      int first,
      int step,
      float[] right,
      int width,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      float[] result,
      int to,
      int present,
      Clamp clamp) {
    int i = 0;
    for (; i <= present - COLUMNS; i += COLUMNS) {
      columns(
          left,
          leftAt,
          first,
          step,
          right,
          i,
          width,
          depth,
          bias,
          column + i,
          added,
          addedAt + i,
          result,
          to + i,
          clamp.low(),
          clamp.high());
    }
    for (; i < present; i++) {
      float sum = added[addedAt + i] + bias[column + i];
      for (int k = first; k < depth; k += step) {
        sum = Math.fma(left[leftAt + k], right[k * width + i], sum);
      }
      result[to + i] = clamp.apply(sum);
    }
  }

  private static void columns(
      float[] left,
      int leftAt,
      int first,
      int step,
      float[] right,
      int panel,
      int width,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      float[] result,
      int to,
      int low,
      int high) {
    float sum0 = added[addedAt] + bias[column];
    float sum1 = added[addedAt + 1] + bias[column + 1];
    float sum2 = added[addedAt + 2] + bias[column + 2];
    float sum3 = added[addedAt + 3] + bias[column + 3];
    float sum4 = added[addedAt + 4] + bias[column + 4];
    float sum5 = added[addedAt + 5] + bias[column + 5];
    float sum6 = added[addedAt + 6] + bias[column + 6];
    float sum7 = added[addedAt + 7] + bias[column + 7];
    int at = panel + first * width;
    for (int k = first; k < depth; k += step) {
      float x = left[leftAt + k];
      sum0 = Math.fma(x, right[at], sum0);
      sum1 = Math.fma(x, right[at + 1], sum1);
      sum2 = Math.fma(x, right[at + 2], sum2);
      sum3 = Math.fma(x, right[at + 3], sum3);
      sum4 = Math.fma(x, right[at + 4], sum4);
      sum5 = Math.fma(x, right[at + 5], sum5);
      sum6 = Math.fma(x, right[at + 6], sum6);
      sum7 = Math.fma(x, right[at + 7], sum7);
      at += step * width;
    }
    result[to] = Clamp.apply(sum0, low, high);
    result[to + 1] = Clamp.apply(sum1, low, high);
    result[to + 2] = Clamp.apply(sum2, low, high);
    result[to + 3] = Clamp.apply(sum3, low, high);
    result[to + 4] = Clamp.apply(sum4, low, high);
    result[to + 5] = Clamp.apply(sum5, low, high);
    result[to + 6] = Clamp.apply(sum6, low, high);
    result[to + 7] = Clamp.apply(sum7, low, high);
  }

  /** Pixels of a depthwise convolution of three by three taps; the parameters are as there. */
  public static void threeByThree(
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
      float[] out,
      int to,
      int count,
      int low,
      int high) {
    for (int i = 0; i < count; i++) {
      for (int c = 0; c < channels; c++) {
        int upper = at0 + i * pixel + c;
        int middle = at1 + i * pixel + c;
        int lower = at2 + i * pixel + c;
        float sum = Math.fma(line0[upper], weights[c], bias[c]);
        sum = Math.fma(line0[upper + tap], weights[c + channels], sum);
        sum = Math.fma(line0[upper + 2 * tap], weights[c + 2 * channels], sum);
        sum = Math.fma(line1[middle], weights[c + 3 * channels], sum);
        sum = Math.fma(line1[middle + tap], weights[c + 4 * channels], sum);
        sum = Math.fma(line1[middle + 2 * tap], weights[c + 5 * channels], sum);
        sum = Math.fma(line2[lower], weights[c + 6 * channels], sum);
        sum = Math.fma(line2[lower + tap], weights[c + 7 * channels], sum);
        sum = Math.fma(line2[lower + 2 * tap], weights[c + 8 * channels], sum);
        out[to + i * channels + c] = Clamp.apply(sum, low, high);
      }
    }
  }

  /** The twin of {@link DepthwiseKernels#twoTaps}. */
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
      int low,
      int high) {
    for (int c = 0; c < channels; c++) {
      int weight = weightAt + c;
      float sum = Math.fma(line0[at0 + c], weights[weight], bias[c]);
      sum = Math.fma(line0[at0 + c + tap], weights[weight + channels], sum);
      sum = Math.fma(line1[at1 + c], weights[weight + 3 * channels], sum);
      sum = Math.fma(line1[at1 + c + tap], weights[weight + 4 * channels], sum);
      sum = Math.fma(line2[at2 + c], weights[weight + 6 * channels], sum);
      sum = Math.fma(line2[at2 + c + tap], weights[weight + 7 * channels], sum);
      out[to + c] = Clamp.apply(sum, low, high);
    }
  }

  /** The twin of {@link DepthwiseKernels#rectangle}. */
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
      int low,
      int high) {
    for (int c = 0; c < channels; c++) {
      float sum = bias[c];
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          sum =
              Math.fma(
                  in[at + y * line + x * tap + c],
                  weights[weightAt + y * weightLine + x * channels + c],
                  sum);
        }
      }
      out[to + c] = Clamp.apply(sum, low, high);
    }
  }

  /** Float sums of a part, added to the int sums; the first part begins them. */
  public static void collect(float[] sums, int from, int[] totals, int count, boolean isFirst) {
    for (int i = 0; i < count; i++) {
      totals[i] = (int) sums[from + i] + (isFirst ? 0 : totals[i]);
    }
  }

  /** A mean or a maximum of the floats under a window. */
  public static void pool(
      boolean isMaximum,
      float[] in,
      int from,
      int lineSize,
      int channels,
      int height,
      int width,
      float[] out,
      int to,
      Clamp clamp) {
    for (int c = 0; c < channels; c++) {
      float value = isMaximum ? Float.NEGATIVE_INFINITY : 0;
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          float next = in[from + y * lineSize + x * channels + c];
          value = isMaximum ? Math.max(value, next) : value + next;
        }
      }
      out[to + c] = clamp.apply(isMaximum ? value : value / ((float) height * width));
    }
  }
}
