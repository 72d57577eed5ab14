// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

/**
 * The memory of one run: all tensors of a kind in one array, where the plan put them, and what each
 * thread needs besides. Used by one run at a time.
 */
public final class Frame {
  /** All float tensors. */
  public final float[] floats;

  /** All tensors of 8-bit integers, as they are stored. */
  public final byte[] bytes;

  /** Whether the scalar twins of kernels run; set before the first step. */
  public boolean isScalar;

  private final Scratch[] scratches;
  private final Job job = new Job(this);

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

  /** What a thread needs; 0 is the caller. */
  Scratch scratch(int participant) {
    return scratches[participant];
  }
}
