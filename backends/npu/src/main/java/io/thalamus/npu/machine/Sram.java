// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

/**
 * The memory on the chip: the scratchpad, the accumulators, and registers that hold nothing from
 * one command to the next. One stream at a time runs in it, and finds what the one before left
 * behind. Not thread-safe; owned by the device.
 */
public final class Sram {
  final byte[] scratchpad;

  /** Sums of 8-bit types. */
  final int[] sums;

  /** Sums of float16: the same accumulators, seen as float32. */
  final float[] floatSums;

  /** Rows of inputs that the array reads side by side. */
  final int[] inputs;

  /** Tables of the vector unit. */
  final int[] tables = new int[2 * Footprint.TABLE];

  /**
   * Memory of these sizes, all 0.
   *
   * @param bytes of the scratchpad
   * @param accumulators of 32 bits
   */
  public Sram(int bytes, int accumulators) {
    scratchpad = new byte[bytes];
    sums = new int[accumulators];
    floatSums = new float[accumulators];
    inputs = new int[MatrixArray.ROWS * accumulators];
  }
}
