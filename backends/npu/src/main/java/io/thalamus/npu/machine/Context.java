// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import java.util.BitSet;

/**
 * The part of the memory on the chip that a stream still needs, when it stops before one of its
 * commands. Immutable.
 */
public record Context(BitSet scratchpad, BitSet sums, BitSet floatSums) {
  /** Returns the bytes to copy. */
  public long bytes() {
    long accumulators = sums.cardinality() + floatSums.cardinality();
    return scratchpad.cardinality() + Integer.BYTES * accumulators;
  }

  /** Returns the number of blocks that they lie in. */
  public int blocks() {
    return blocks(scratchpad) + blocks(sums) + blocks(floatSums);
  }

  private static int blocks(BitSet set) {
    int blocks = 0;
    for (int from = set.nextSetBit(0); from >= 0; from = set.nextSetBit(set.nextClearBit(from))) {
      blocks++;
    }
    return blocks;
  }

  /** Copies it to DRAM: others may use the chip then. */
  public void save(Sram from, Memory to) {
    copy(scratchpad, from.scratchpad, to.scratchpad);
    copy(sums, from.sums, to.sums);
    copy(floatSums, from.floatSums, to.floatSums);
  }

  /** Copies it back to where it was. */
  public void restore(Memory from, Sram to) {
    copy(scratchpad, from.scratchpad, to.scratchpad);
    copy(sums, from.sums, to.sums);
    copy(floatSums, from.floatSums, to.floatSums);
  }

  private static void copy(BitSet set, Object from, Object to) {
    int end;
    for (int at = set.nextSetBit(0); at >= 0; at = set.nextSetBit(end)) {
      end = set.nextClearBit(at);
      System.arraycopy(from, at, to, at, end - at);
    }
  }
}
