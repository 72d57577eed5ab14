// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import java.util.Arrays;

/**
 * The factors of weights that were stored in 8 bits, of a layer or of each channel: files with such
 * weights, which a reader makes floats, have them. Used once.
 */
final class StoredFactors {
  /** Quantizers give the largest weight of a channel, or of a layer, this number, or one less. */
  private static final int MOST = -Byte.MIN_VALUE;

  /** The largest weight is rounded: its factor is this many steps away at most. */
  private static final int STEPS = 2;

  private final Rows rows;
  private final int channels;
  private final float[] row;

  private StoredFactors(Rows rows, int depth, int channels) {
    this.rows = rows;
    this.channels = channels;
    row = new float[depth];
  }

  /** The weights of a layer. */
  @FunctionalInterface
  interface Rows {
    /** Copies those of a channel. */
    void copy(int channel, float[] to);
  }

  /**
   * Returns a factor for each channel, by which whole numbers of 8 bits are its weights to the bit;
   * nothing if there are none. Most floats differ from such numbers in the first channel.
   */
  static float[] of(Rows rows, int depth, int channels) {
    StoredFactors search = new StoredFactors(rows, depth, channels);
    rows.copy(0, search.row);
    return search.factor(most(search.row), 1) == 0 ? new float[0] : search.factors();
  }

  /** Returns the whole number that a weight is the factor times. */
  static byte stored(float weight, float factor) {
    return (byte) Math.round(weight / factor);
  }

  private float[] factors() {
    float most = 0;
    for (int c = 0; c < channels; c++) {
      rows.copy(c, row);
      most = Math.max(most, most(row));
    }
    float[] factors = new float[channels];
    for (float factor : candidates(most, MOST - 1)) {
      Arrays.fill(factors, factor);
      if (areAllMultiples(factor)) {
        return factors;
      }
    }
    for (int c = 0; c < channels; c++) {
      rows.copy(c, row);
      factors[c] = factor(most(row), MOST - 1);
      if (factors[c] == 0) {
        return new float[0];
      }
    }
    return factors;
  }

  private static float most(float[] row) {
    float most = 0;
    for (float weight : row) {
      most = Math.max(most, Math.abs(weight));
    }
    return most;
  }

  /**
   * Returns the factor of the weights of a channel; 0 if there is none.
   *
   * @param least number that the largest weight can be
   */
  private float factor(float most, int least) {
    for (float factor : candidates(most, least)) {
      if (areMultiples(factor)) {
        return factor;
      }
    }
    return 0;
  }

  private static float[] candidates(float most, int least) {
    float[] candidates = new float[(MOST - least + 1) * (2 * STEPS + 1)];
    int next = 0;
    for (int number = MOST; number >= least; number--) {
      int middle = Float.floatToRawIntBits(most / number);
      for (int step = -STEPS; step <= STEPS; step++) {
        candidates[next++] = Float.intBitsToFloat(middle + step);
      }
    }
    return candidates;
  }

  private boolean areAllMultiples(float factor) {
    for (int c = 0; c < channels; c++) {
      rows.copy(c, row);
      if (!areMultiples(factor)) {
        return false;
      }
    }
    return true;
  }

  private boolean areMultiples(float factor) {
    for (float weight : row) {
      // Also if the weight is no number, or too large.
      if (!(Math.abs(weight) <= MOST * factor) || stored(weight, factor) * factor != weight) {
        return false;
      }
    }
    return factor >= Float.MIN_NORMAL;
  }
}
