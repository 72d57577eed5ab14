// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

/**
 * The cost of executing one model at a steady rate for a time, with a burst or without. Immutable.
 *
 * @param executions that came to their end within the time
 * @param joules of leakage, changes of the voltage and executions
 * @param meanNanos from a request to its result
 * @param worstNanos the longest of these
 * @param ramps how often the supply went up
 */
public record PowerBudget(
    int executions, double joules, long meanNanos, long worstNanos, int ramps) {
  private static final double NANOS = 1e9;

  /**
   * Simulates requests that come one after the other at equal distances, the first after half of
   * one. One that comes while another runs waits for it.
   *
   * @param onDeviceNanos of an execution once the clock runs
   * @param joules of an execution without leakage
   * @param rate of requests, in each second
   * @param nanos the time, at whose beginning the supply is idle
   * @param isBurst whether a burst is open for all of it
   */
  public static PowerBudget of(
      PowerModel power,
      OperatingPoint point,
      long onDeviceNanos,
      double joules,
      double rate,
      long nanos,
      boolean isBurst) {
    if (!(rate > 0) || Double.isInfinite(rate)) {
      throw new IllegalArgumentException(rate + " requests a second: give more than 0");
    }
    PowerState supply = new PowerState(power, 0);
    if (isBurst) {
      supply.hold(0, point);
    }
    int count = 0;
    long free = 0;
    double sum = 0;
    long worst = 0;
    double spent = 0;
    for (long i = 0; ; i++) {
      long arrival = Math.round((i + 0.5) / rate * NANOS);
      long start = Math.max(arrival, free);
      if (start >= nanos) {
        break;
      }
      free = start + supply.begin(start, point) + onDeviceNanos;
      if (free > nanos) {
        break;
      }
      supply.end(free);
      count++;
      sum += free - arrival;
      worst = Math.max(worst, free - arrival);
      spent += joules;
    }
    return new PowerBudget(
        count,
        supply.joules(nanos) + spent,
        count == 0 ? 0 : Math.round(sum / count),
        worst,
        supply.ramps());
  }
}
