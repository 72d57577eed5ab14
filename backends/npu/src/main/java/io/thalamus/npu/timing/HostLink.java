// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * The link between the host's memory and the device's, by Hockney's law: each transfer takes a
 * start-up time and then a constant number of bytes in each second. Immutable.
 *
 * @param bytesPerSecond in either direction
 * @param latencyNanos of a transfer
 */
public record HostLink(double bytesPerSecond, double latencyNanos) {
  private static final double NANOS = 1e9;

  public HostLink {
    if (!(bytesPerSecond > 0) || Double.isInfinite(bytesPerSecond)) {
      throw new IllegalArgumentException(
          bytesPerSecond + " bytes per second between host and device: give more than 0");
    }
    if (!(latencyNanos >= 0) || Double.isInfinite(latencyNanos)) {
      throw new IllegalArgumentException(
          "a latency of " + latencyNanos + " ns to the host is none: give 0 or more");
    }
  }

  /** The time of transfers, one after the other. */
  public long nanos(int transfers, long bytes) {
    return Math.round(transfers * latencyNanos + bytes / bytesPerSecond * NANOS);
  }
}
