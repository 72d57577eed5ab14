// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.driver.tiles.Job;
import io.thalamus.driver.tiles.Tiles;

/**
 * The memory of one run: all tensors of a kind in one array, where the plan put them, and what each
 * thread needs besides. Used by one run at a time.
 */
public final class Frame implements Tiles {
  /** All float tensors. */
  public final float[] floats;

  /** All tensors of 8-bit integers, as they are stored. */
  public final byte[] bytes;

  /** True if the scalar twins of kernels run; set before the first step. */
  public boolean isScalar;

  private final Scratch[] scratches;
  private final Job job = new Job();

  /** The step whose tiles are open. */
  private Step step;

  public Frame(Program program, int participants) {
    floats = new float[program.floats()];
    bytes = new byte[program.bytes()];
    scratches = new Scratch[participants];
    for (int i = 0; i < participants; i++) {
      scratches[i] = new Scratch(program.scratchFloats(), program.scratchInts());
    }
  }

  public Job job() {
    return job;
  }

  /** Makes the tiles of a step available to others. */
  public void open(Step next) {
    step = next;
    job.open(this, next.tiles());
  }

  @Override
  public void run(int participant, int tile) {
    step.run(this, scratches[participant], tile);
  }

  /**
   * Returns whether a tile that has long parts is to be left as it is, since the execution ends.
   *
   * @param scratch that the tile was given
   */
  public boolean isOver(Scratch scratch) {
    return job.isOver(scratch == scratches[0] ? 0 : 1);
  }

  /** Returns the memory of a thread; 0 is the caller. */
  Scratch scratch(int participant) {
    return scratches[participant];
  }
}
