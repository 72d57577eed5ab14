// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Executable.Memories;

/**
 * The memory that one run of a compiled model writes: its DRAM of tensors, the scratchpad, the
 * accumulators. Used by one run at a time; owned by whoever made it.
 */
public final class Memory {
  /** DRAM of inputs, outputs and what lies between; the host writes and reads it. */
  public final byte[] tensors;

  final byte[] scratchpad;

  /** Sums of 8-bit types. */
  final int[] sums;

  /** Sums of float16: the same accumulators, seen as float32. */
  final float[] floatSums;

  /** Rows of inputs that the array reads side by side. */
  final int[] inputs;

  /** Tables of the vector unit. */
  final int[] tables = new int[2 * Footprint.TABLE];

  /** Memory of these sizes, all 0. */
  public Memory(Memories sizes) {
    tensors = new byte[sizes.tensors()];
    scratchpad = new byte[sizes.scratchpad()];
    sums = new int[sizes.accumulators()];
    floatSums = new float[sizes.accumulators()];
    inputs = new int[MatrixArray.ROWS * sizes.accumulators()];
  }

  boolean fits(Memories sizes) {
    return tensors.length >= sizes.tensors()
        && scratchpad.length >= sizes.scratchpad()
        && sums.length >= sizes.accumulators();
  }
}
