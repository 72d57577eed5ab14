// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A transposed convolution of images without the zeros between what it sees, as readers write it.
 * Of results that are a stride apart, all see the same weights: for each place within a stride
 * there is a convolution of stride 1 with every stride-th weight. One convolution computes them all
 * as channels, the places before the channels of each, and they are moved to their places in the
 * end: what moves is DEPTH_TO_SPACE, or RESHAPE where the stride of the height is 1. Every device
 * has both, and each result is the sum of the same products.
 *
 * <p>Immutable; by axis, the height before the width. The arrays must not be changed.
 *
 * @param kernel weights along an axis
 * @param strides steps of the results
 * @param taps of the convolution; the last ones of some places are 0
 * @param before padding of the convolution in front
 * @param after padding behind
 * @param positions results of the convolution, of as many places as the stride has
 * @param cut results in front of those that are asked for
 */
public record Phases(
    int[] kernel,
    int[] strides,
    int[] taps,
    int[] before,
    int[] after,
    int[] positions,
    int[] cut) {
  private static final int AXES = 2;

  /**
   * Finds the windows.
   *
   * @param size of the images
   * @param pads results that are cut away in front
   * @param output sizes of the result
   * @return nothing if the strides differ, if some windows would begin behind the images, or if
   *     most places within a stride see nothing, whose weights would be many zeros
   */
  public static Optional<Phases> of(
      int[] size, int[] kernel, int[] strides, int[] pads, int[] output) {
    int[][] found = new int[5][AXES];
    for (int i = 0; i < AXES; i++) {
      int stride = strides[i];
      if (pads[i] < 0 || output[i] < 1 || stride < 1 || stride > 2L * kernel[i]) {
        return Optional.empty();
      }
      int first = pads[i] / stride;
      int last = (pads[i] + output[i] - 1) / stride;
      found[0][i] = Math.ceilDiv(kernel[i], stride);
      found[1][i] = found[0][i] - 1 - first;
      found[2][i] = last + 1 - size[i];
      found[3][i] = last - first + 1;
      found[4][i] = pads[i] % stride;
      if (found[1][i] < 0 || found[2][i] < 0) {
        return Optional.empty();
      }
    }
    return strides[0] != 1 && strides[0] != strides[1]
        ? Optional.empty()
        : Optional.of(
            new Phases(kernel, strides, found[0], found[1], found[2], found[3], found[4]));
  }

  /** The places within a stride, each of which has channels of its own. */
  public int places() {
    return strides[0] * strides[1];
  }

  /** The results along an axis, of which some may have to be cut away. */
  public int moved(int axis) {
    return positions[axis] * strides[axis];
  }

  /**
   * Writes the weights of the convolution, but for those that are 0.
   *
   * @param from weights by channel of the result, row, column, and channel of the images
   * @param to as many for each place
   * @param units channels of the result
   * @param cell bytes of the weights of all channels of the images
   */
  public void copyWeights(MemorySegment from, MemorySegment to, int units, long cell) {
    for (int row = 0; row < kernel[0]; row++) {
      for (int column = 0; column < kernel[1]; column++) {
        int place = row % strides[0] * strides[1] + column % strides[1];
        // The first tap sees what stands first, whose weight is the last one.
        int tap = (taps[0] - 1 - row / strides[0]) * taps[1] + taps[1] - 1 - column / strides[1];
        for (int unit = 0; unit < units; unit++) {
          long source = ((long) unit * kernel[0] + row) * kernel[1] + column;
          long target = ((long) place * units + unit) * taps[0] * taps[1] + tap;
          MemorySegment.copy(from, source * cell, to, target * cell, cell);
        }
      }
    }
  }
}
