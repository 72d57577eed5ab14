// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

/**
 * A quantity to be minimized. Immutable.
 *
 * @param time how much a nanosecond counts
 * @param energy how much a nanosecond of the reference's power counts
 * @param energyLimit cuts that need more are worth nothing
 */
record Goal(double time, double energy, double energyLimit) {
  /** The time alone. */
  static final Goal FAST = new Goal(1, 0, Double.POSITIVE_INFINITY);

  /** The energy; the time only decides between equals. */
  static final Goal FRUGAL = new Goal(1e-4, 1, Double.POSITIVE_INFINITY);

  /** The same with energy counting so much. */
  Goal withEnergy(double value) {
    return new Goal(time, value, energyLimit);
  }

  /** The same within a limit. */
  Goal within(double limit) {
    return new Goal(time, energy, limit);
  }

  double of(double nanos, double joules) {
    return joules > energyLimit ? Double.POSITIVE_INFINITY : time * nanos + energy * joules;
  }
}
