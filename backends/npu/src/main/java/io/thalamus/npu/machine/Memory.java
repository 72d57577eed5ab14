// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Executable.Memories;

/**
 * The DRAM that one run of a compiled model writes: its tensors, and the context of a run that has
 * been put aside. Used by one run at a time; owned by whoever made it.
 */
public final class Memory {
  /** Inputs, outputs and what lies between; the host writes and reads it. */
  public final byte[] tensors;

  /** The saved part of the scratchpad, at the addresses that it has there. */
  final byte[] scratchpad;

  /** The saved sums, at the addresses of their accumulators. */
  final int[] sums;

  /** The saved sums of float16. */
  final float[] floatSums;

  /** Memory of these sizes, all 0. */
  public Memory(Memories sizes) {
    tensors = new byte[sizes.tensors()];
    scratchpad = new byte[sizes.scratchpad()];
    sums = new int[sizes.accumulators()];
    floatSums = new float[sizes.accumulators()];
  }

  boolean fits(Memories sizes) {
    return tensors.length >= sizes.tensors()
        && scratchpad.length >= sizes.scratchpad()
        && sums.length >= sizes.accumulators();
  }
}
