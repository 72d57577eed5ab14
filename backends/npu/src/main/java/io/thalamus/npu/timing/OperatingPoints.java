// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import io.thalamus.model.ExecutionPreference;
import java.util.Comparator;
import java.util.List;

/**
 * The voltages and clocks that the accelerator can be put to, and which one a preference asks for.
 * Immutable.
 *
 * <p>FAST_SINGLE_ANSWER takes the fastest point. SUSTAINED_SPEED takes the fastest whose peak power
 * the package can shed for ever. LOW_POWER takes the one that spends the least energy on a cycle of
 * full work: slower ones switch for less, but leak for longer.
 */
public final class OperatingPoints {
  /** Between executions: the voltage that keeps the scratchpad, and no clock. */
  public static final OperatingPoint IDLE = new OperatingPoint("idle", 0.5, 0);

  /** The points that can work, slowest first. */
  public static final List<OperatingPoint> WORKING =
      List.of(
          OperatingPoint.at("low", 0.5),
          OperatingPoint.at("nominal", 0.7),
          OperatingPoint.at("boost", 0.9));

  private final OperatingPoint lowPower;
  private final OperatingPoint fast;
  private final OperatingPoint sustained;

  /**
   * Makes the choice for an array.
   *
   * @param thermalWatts what the package sheds for ever; where even the slowest point draws more,
   *     that point is taken
   */
  public OperatingPoints(ArrayTiming array, PowerModel power, double thermalWatts) {
    fast = WORKING.getLast();
    sustained =
        WORKING.reversed().stream()
            .filter(point -> power.peakWatts(array, point) <= thermalWatts)
            .findFirst()
            .orElse(WORKING.getFirst());
    lowPower =
        WORKING.stream()
            .min(Comparator.comparingDouble(point -> power.peakWatts(array, point) / point.hertz()))
            .orElseThrow();
  }

  /** The point for a preference. */
  public OperatingPoint choose(ExecutionPreference preference) {
    return switch (preference) {
      case LOW_POWER -> lowPower;
      case FAST_SINGLE_ANSWER -> fast;
      case SUSTAINED_SPEED -> sustained;
    };
  }
}
