// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/**
 * The memory of one run: all tensors of a kind in one array, where the plan put them, and what each
 * thread needs besides. Used by one run at a time.
 */
final class Frame {
  /** All float tensors. */
  final float[] floats;

  /** All tensors of 8-bit integers, as they are stored. */
  final byte[] bytes;

  /** Whether the scalar twins of kernels run; set before the first step. */
  boolean isScalar;

  private final Scratch[] scratches;
  private final Job job = new Job(this);

  Frame(Program program, int participants) {
    floats = new float[program.floats()];
    bytes = new byte[program.bytes()];
    scratches = new Scratch[participants];
    for (int i = 0; i < participants; i++) {
      scratches[i] = new Scratch(program.scratchFloats(), program.scratchInts());
    }
  }

  Job job() {
    return job;
  }

  /** What a thread needs; 0 is the caller. */
  Scratch scratch(int participant) {
    return scratches[participant];
  }
}
