// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.DmaTiming;
import io.thalamus.npu.timing.OperatingPoint;

/**
 * The parts of the simulated hardware. Immutable.
 *
 * @param array the systolic array and its dataflow
 * @param lanes elements that the vector unit computes in a cycle
 * @param scratchpad bytes
 * @param accumulators of 32 bits
 * @param dram bytes, for weights and tensors together
 * @param bytesPerSecond of DRAM in either direction
 * @param latencySeconds of a transfer
 */
public record Architecture(
    ArrayTiming array,
    int lanes,
    int scratchpad,
    int accumulators,
    int dram,
    double bytesPerSecond,
    double latencySeconds) {
  public Architecture {
    requirePositive(lanes, "lanes");
    requirePositive(scratchpad, "bytes of scratchpad");
    requirePositive(accumulators, "accumulators");
    requirePositive(dram, "bytes of DRAM");
    requirePositive(bytesPerSecond, "bytes per second");
    if (!(latencySeconds >= 0) || Double.isInfinite(latencySeconds)) {
      throw new IllegalArgumentException(
          "a latency of " + latencySeconds + " s is none: give 0 or more");
    }
  }

  private static void requirePositive(double value, String what) {
    if (!(value > 0) || Double.isInfinite(value)) {
      throw new IllegalArgumentException(value + " " + what + ": give more than 0");
    }
  }

  /** Parts of the scratchpad, and of the accumulators, that are locked one by one. */
  public static final int BANKS = 64;

  /** Bytes of a bank of the scratchpad. */
  public int scratchpadBank() {
    return Math.max(1, scratchpad / BANKS);
  }

  /** Accumulators of a bank. */
  public int accumulatorBank() {
    return Math.max(1, accumulators / BANKS);
  }

  /** A transfer at a clock: DRAM has a clock of its own, which does not change. */
  public DmaTiming dma(OperatingPoint point) {
    return new DmaTiming(
        bytesPerSecond / point.hertz(), Math.round(latencySeconds * point.hertz()));
  }
}
