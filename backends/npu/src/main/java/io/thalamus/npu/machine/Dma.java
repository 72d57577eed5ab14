// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command.Block;
import java.util.Arrays;

/** Moves blocks between DRAM and the scratchpad. Stateless; commands have been checked. */
final class Dma {
  private Dma() {}

  /** Copies a block to where rows and planes have other distances. */
  static void copy(
      byte[] from, int fromAddress, Block block, byte[] to, int toAddress, int toRow, int toPlane) {
    for (int p = 0; p < block.planes(); p++) {
      int source = fromAddress + p * block.plane();
      int target = toAddress + p * toPlane;
      for (int r = 0; r < block.rows(); r++) {
        System.arraycopy(from, source + r * block.row(), to, target + r * toRow, block.run());
      }
    }
  }

  /** Sets a block. */
  static void fill(byte[] to, int address, Block block, byte value) {
    for (int p = 0; p < block.planes(); p++) {
      for (int r = 0; r < block.rows(); r++) {
        int target = address + p * block.plane() + r * block.row();
        Arrays.fill(to, target, target + block.run(), value);
      }
    }
  }
}
