// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.machine.Architecture;

/**
 * Hands out the scratchpad and the accumulators to the buffers of one tiling. Each begins at a bank
 * of its own, so that two of them never wait for each other. Not thread-safe.
 */
final class Scratch {
  private final Architecture architecture;
  private long bytes;
  private long accumulators;

  Scratch(Architecture architecture) {
    this.architecture = architecture;
  }

  /** Room for these bytes. */
  int bytes(long size) {
    long address = bytes;
    bytes += roundUp(size, architecture.scratchpadBank());
    return (int) Math.min(address, Integer.MAX_VALUE);
  }

  /** Several buffers of a size; without places where they do not fit together. */
  int[] buffers(int count, long size) {
    if (count * size > architecture.scratchpad()) {
      bytes += count * size;
      return new int[0];
    }
    int[] addresses = new int[count];
    for (int i = 0; i < count; i++) {
      addresses[i] = bytes(size);
    }
    return addresses;
  }

  /** Several groups of accumulators. */
  int[] accumulators(int count, long size) {
    int[] addresses = new int[count];
    for (int i = 0; i < count; i++) {
      addresses[i] = (int) Math.min(accumulators, Integer.MAX_VALUE);
      accumulators += roundUp(size, architecture.accumulatorBank());
    }
    return addresses;
  }

  private static long roundUp(long size, int unit) {
    return Math.ceilDiv(size, unit) * unit;
  }

  /** Returns whether all that was handed out is there. */
  boolean fits() {
    return bytes <= architecture.scratchpad() && accumulators <= architecture.accumulators();
  }
}
