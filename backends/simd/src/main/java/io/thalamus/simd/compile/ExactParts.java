// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.kernel.PackedMatrix;
import io.thalamus.simd.kernel.Rows;
import java.util.ArrayList;
import java.util.List;

/**
 * Parts of the depth of an integer product over which float sums are exact whatever the input is:
 * the magnitudes of all terms together stay below 2^24.
 */
final class ExactParts {
  /** Integers up to this are floats. */
  static final long EXACT = 1L << 24;

  private ExactParts() {}

  /**
   * Returns where the parts of a product begin, in order, and the depth.
   *
   * @param weights by depth and column, less their zero point
   * @param depth of the product
   * @param columns of the product
   * @param unit of depth, which is not divided where it fits into a part
   * @param largestInput magnitude of an input less its zero point
   */
  static List<Integer> of(
      PackedMatrix.Elements weights, int depth, int columns, int unit, int largestInput) {
    List<Integer> bounds = new ArrayList<>();
    bounds.add(0);
    long[] sums = new long[columns];
    int end;
    for (int from = 0; from < depth; from = end) {
      end = end(from, unit);
      long[] unitSums = new long[columns];
      boolean fitsAlone = add(weights, from, end, largestInput, unitSums);
      int begin = bounds.getLast();
      boolean fits = fitsAlone && end - begin <= Rows.LONGEST && unit <= Rows.LONGEST;
      for (int c = 0; c < columns; c++) {
        fits &= sums[c] + unitSums[c] <= EXACT;
      }
      if (fits) {
        for (int c = 0; c < columns; c++) {
          sums[c] += unitSums[c];
        }
        continue;
      }
      if (from > begin) {
        bounds.add(from);
      }
      sums = unitSums;
      if (!fitsAlone) {
        divide(bounds, from, end, largestInput);
        // Nothing joins the last of the divided parts.
        if (end < depth) {
          bounds.add(end);
        }
        sums = new long[columns];
      }
    }
    bounds.add(depth);
    return bounds;
  }

  /** The end of a unit, or of a piece of one that is longer than a part. */
  private static int end(int from, int unit) {
    int endOfUnit = (from / unit + 1) * unit;
    return unit <= Rows.LONGEST ? endOfUnit : Math.min(endOfUnit, from + Patches.piece(unit));
  }

  private static boolean add(
      PackedMatrix.Elements weights, int from, int end, int largestInput, long[] sums) {
    boolean fits = true;
    for (int c = 0; c < sums.length; c++) {
      for (int k = from; k < end; k++) {
        sums[c] += (long) Math.abs(weights.get(k, c)) * largestInput;
      }
      fits &= sums[c] <= EXACT;
    }
    return fits;
  }

  /** Cuts a unit by the largest magnitude that a weight can have. */
  private static void divide(List<Integer> bounds, int from, int end, int largestInput) {
    int length = (int) Math.min(Rows.LONGEST, EXACT / (255L * Math.max(1, largestInput)));
    for (int k = from + length; k < end; k += length) {
      bounds.add(k);
    }
  }
}
