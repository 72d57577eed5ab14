// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import java.util.Objects;

/**
 * The time of a systolic array: cycles of a product of (m x k) and (k x n), folded over the array.
 * Immutable.
 *
 * <p>The equations are those of SCALE-Sim (Samajdar et al., "SCALE-Sim: Systolic CNN Accelerator
 * Simulator", arXiv 1811.02883, and "A Systematic Methodology for Characterizing Scalability of DNN
 * Accelerators using SCALE-Sim", ISPASS 2020, equations 1 to 4). A fold takes
 *
 * <pre>{@code 2 R + C + T - 2}</pre>
 *
 * cycles: R to load what stays (or, where sums stay, to drain them), R + C - 2 until the skewed
 * streams have filled the array, T steps in time. Each fold ends before the next begins, so that a
 * product takes
 *
 * <pre>{@code (2 R + C + T - 2) * ceil(S_R / R) * ceil(S_C / C)}</pre>
 *
 * with (S_R, S_C, T) = (k, n, m), (m, n, k) or (k, m, n) after the {@link Dataflow}. A fold that
 * fills only a part of the array takes as long as a full one: operands and sums cross the idle
 * elements too.
 *
 * @param rows of the array, R
 * @param columns of the array, C
 * @param dataflow what stays
 */
public record ArrayTiming(int rows, int columns, Dataflow dataflow) {
  public ArrayTiming {
    Objects.requireNonNull(dataflow, "dataflow");
    if (rows < 1 || columns < 1) {
      throw new IllegalArgumentException(
          "an array of " + rows + " x " + columns + " has no element: give at least 1 x 1");
    }
  }

  /**
   * The cycles of one product.
   *
   * @param m rows of the left operand: the pixels of a convolution's output
   * @param k columns of the left operand: the elements of one filter
   * @param n columns of the right operand: the filters
   * @throws ArithmeticException where the count exceeds a long
   */
  public long cycles(long m, long k, long n) {
    long once =
        switch (dataflow) {
          case WEIGHT_STATIONARY -> m;
          case OUTPUT_STATIONARY -> k;
          case INPUT_STATIONARY -> n;
        };
    long fold = Math.addExact(2L * rows + columns - 2, once);
    return Math.multiplyExact(fold, folds(m, k, n));
  }

  /** Returns the number of times that the array is filled for one product. */
  public long folds(long m, long k, long n) {
    requirePositive(m, "m");
    requirePositive(k, "k");
    requirePositive(n, "n");
    long down = dataflow == Dataflow.OUTPUT_STATIONARY ? m : k;
    long across = dataflow == Dataflow.INPUT_STATIONARY ? m : n;
    return Math.multiplyExact(Math.ceilDiv(down, rows), Math.ceilDiv(across, columns));
  }

  private static void requirePositive(long value, String name) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " is " + value + ": a product needs at least 1");
    }
  }
}
