// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.machine.Architecture;

/**
 * An operation as loops over tiles, for a {@link LoopNest}: all tiles that fit give the same bits.
 * Immutable and thread-safe.
 *
 * @param <P> the buffers that the loops use
 */
interface Layer<P> {
  /**
   * By axis, the values that can be chosen. The first of each is what one would like to have; those
   * behind it take less memory. Axes in front are the first to be cut down.
   */
  int[][] choices(Architecture architecture);

  /** Hands out the buffers for the chosen values. */
  P plan(int[] tile, Scratch scratch);

  /** About how many commands the chosen values take. */
  long commands(int[] tile);

  /** Emits the commands for the chosen values, whose buffers fit. */
  void emit(P plan, int[] tile, Emitter to);
}
