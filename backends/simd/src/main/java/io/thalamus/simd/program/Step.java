// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

/**
 * One kernel bound to places in a frame. Immutable and thread-safe. Its tiles write to different
 * places and can run in any order and at the same time; what a tile computes does not depend on who
 * runs it.
 */
public interface Step {
  /** The number of parts that can run at the same time; at least 1. */
  int tiles();

  /** Floats of {@link Scratch#floats} that a tile needs. */
  default int scratchFloats() {
    return 0;
  }

  /** Ints of {@link Scratch#ints} that a tile needs. */
  default int scratchInts() {
    return 0;
  }

  /** Floats of the largest right matrix of {@link Scratch#product} that a tile packs. */
  default int scratchPacked() {
    return 0;
  }

  /** Computes one part. */
  void run(Frame frame, Scratch scratch, int tile);
}
