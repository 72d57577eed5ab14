// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import java.util.Objects;

/**
 * A voltage, and the clock that it carries. Immutable.
 *
 * @param name for people
 * @param volts of the array and the scratchpad
 * @param hertz of both; 0 where the clock stands still
 */
public record OperatingPoint(String name, double volts, double hertz) {
  /** The voltage of Horowitz's energy table, which all points are measured against. */
  static final double REFERENCE_VOLTS = 0.9;

  private static final double REFERENCE_HERTZ = 800e6;
  private static final double THRESHOLD_VOLTS = 0.3;
  private static final double ALPHA = 1.3;

  public OperatingPoint {
    Objects.requireNonNull(name, "name");
    if (!(volts > 0) || !(hertz >= 0) || Double.isInfinite(volts) || Double.isInfinite(hertz)) {
      throw new IllegalArgumentException(
          name + " at " + volts + " V, " + hertz + " Hz is no operating point");
    }
  }

  /**
   * The fastest clock at a voltage, by the alpha-power law (Sakurai and Newton, IEEE Journal of
   * Solid-State Circuits 25(2), 1990): f ~ (V - V_t)^a / V, through 800 MHz at 0.9 V, with V_t =
   * 0.3 V and a = 1.3.
   */
  public static OperatingPoint at(String name, double volts) {
    if (!(volts > THRESHOLD_VOLTS)) {
      throw new IllegalArgumentException(
          volts + " V carry no clock: give more than the threshold of " + THRESHOLD_VOLTS + " V");
    }
    return new OperatingPoint(name, volts, REFERENCE_HERTZ * speed(volts) / speed(REFERENCE_VOLTS));
  }

  private static double speed(double volts) {
    return Math.pow(volts - THRESHOLD_VOLTS, ALPHA) / volts;
  }

  /** Returns the time of these cycles; for points with a running clock only. */
  public long nanos(long cycles) {
    return Math.round(seconds(cycles) * 1e9);
  }

  double seconds(long cycles) {
    if (cycles > 0 && hertz == 0) {
      throw new IllegalStateException(name + " has no clock to run " + cycles + " cycles");
    }
    return cycles == 0 ? 0 : cycles / hertz;
  }
}
