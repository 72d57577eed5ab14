// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The time after a moment until requests that began later were served by a device. Immutable.
 *
 * @param plannedMillis a compilation had moved to the device
 * @param firstMillis the first of any workload
 * @param allMillis the first of each workload
 */
record Served(double plannedMillis, double firstMillis, double allMillis) {
  private static final double NANOS_PER_MILLI = 1e6;

  static Served ofNanos(long planned, long first, long all) {
    return new Served(planned / NANOS_PER_MILLI, first / NANOS_PER_MILLI, all / NANOS_PER_MILLI);
  }

  /** Tells the median and the longest of several. */
  static void tell(String name, List<Served> served, Figures figures) {
    tell(name + ".planned", served, Served::plannedMillis, figures);
    tell(name + ".firstRequest", served, Served::firstMillis, figures);
    tell(name + ".allModels", served, Served::allMillis, figures);
  }

  private static void tell(
      String name, List<Served> served, ToDoubleFunction<Served> millis, Figures figures) {
    double[] sorted = served.stream().mapToDouble(millis).sorted().toArray();
    if (sorted.length > 0) {
      figures.decimal(name + ".medianMillis", sorted[sorted.length / 2]);
      figures.decimal(name + ".maxMillis", sorted[sorted.length - 1]);
    }
  }
}
