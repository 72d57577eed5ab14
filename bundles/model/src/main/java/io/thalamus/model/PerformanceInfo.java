// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/**
 * The speed and power that a device declares, as ratios to the reference CPU: lower is better.
 *
 * @param execTime ratio of execution times
 * @param powerUsage ratio of energy
 */
public record PerformanceInfo(float execTime, float powerUsage) {
  /** The value for a type that a device does not mention. */
  public static final PerformanceInfo UNSUPPORTED =
      new PerformanceInfo(Float.MAX_VALUE, Float.MAX_VALUE);

  /** The same ratio for time and power. */
  public static PerformanceInfo of(float ratio) {
    return new PerformanceInfo(ratio, ratio);
  }
}
