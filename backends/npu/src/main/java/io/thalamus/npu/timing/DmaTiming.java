// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * The time of transfers between the scratchpad and the memory outside. Immutable.
 *
 * <p>Hockney's linear model ("The communication challenge for MPP: Intel Paragon and Meiko CS-2",
 * Parallel Computing 20, 1994): a start-up time, then a constant rate. The engine has one burst
 * under way at a time, so that each burst of a strided transfer pays the start-up.
 *
 * @param bytesPerCycle the rate once a burst runs
 * @param latencyCycles from the request to the first byte of a burst
 */
public record DmaTiming(double bytesPerCycle, long latencyCycles) {
  public DmaTiming {
    if (!(bytesPerCycle > 0) || Double.isInfinite(bytesPerCycle)) {
      throw new IllegalArgumentException(
          "a rate of " + bytesPerCycle + " bytes per cycle moves nothing: give a positive one");
    }
    if (latencyCycles < 0) {
      throw new IllegalArgumentException(
          "a latency of " + latencyCycles + " cycles: give 0 or more");
    }
  }

  /**
   * The cycles of one transfer.
   *
   * @param bytes in all
   * @param rows the bursts that the bytes are split into, 1 where they lie together
   */
  public long cycles(long bytes, long rows) {
    if (bytes < 0 || rows < 1) {
      throw new IllegalArgumentException(
          bytes + " bytes in " + rows + " rows: give no negative size and at least one row");
    }
    if (bytes == 0) {
      return 0;
    }
    return Math.addExact(
        Math.multiplyExact(rows, latencyCycles), (long) Math.ceil(bytes / bytesPerCycle));
  }
}
