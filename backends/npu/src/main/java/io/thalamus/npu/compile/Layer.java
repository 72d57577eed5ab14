// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

/**
 * An operation as loops over tiles. A tiling is one index for each of the {@link #choices}; all
 * tilings that fit give the same bits. Immutable and thread-safe.
 */
interface Layer {
  /**
   * By axis, the values that can be chosen. The first of each is what one would like to have; those
   * behind it take less memory. Axes in front are the first to be cut down.
   */
  int[][] choices();

  /** Returns whether the scratchpad and the accumulators have room for a tiling. */
  boolean fits(int[] tiling);

  /** About how many commands a tiling takes. */
  long commands(int[] tiling);

  /** Emits the commands of a tiling that fits. */
  void emit(int[] tiling, Emitter to);
}
