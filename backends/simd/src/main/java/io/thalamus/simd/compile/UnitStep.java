// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;

/**
 * A step of units that are alike, such as lines or runs: a tile is some that follow each other.
 * Immutable and thread-safe.
 */
abstract class UnitStep implements Step {
  private final int units;
  private final int tiles;

  /**
   * @param wanted tiles, of which there are no more than units
   */
  UnitStep(int units, int wanted) {
    this.units = units;
    tiles = Math.clamp(units, 1, wanted);
  }

  @Override
  public final int tiles() {
    return tiles;
  }

  @Override
  public final void run(Frame frame, Scratch scratch, int tile) {
    int first = (int) ((long) units * tile / tiles);
    int end = (int) ((long) units * (tile + 1) / tiles);
    run(frame, scratch, first, end);
  }

  /** Computes the units from the first to the end. */
  abstract void run(Frame frame, Scratch scratch, int first, int end);
}
