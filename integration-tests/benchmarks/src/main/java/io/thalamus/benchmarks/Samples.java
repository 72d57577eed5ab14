// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks;

import java.util.Arrays;
import java.util.Collection;

/** Order statistics. Immutable. */
record Samples(double[] sorted) {
  private static final double TENTH = 0.1;
  private static final double HALF = 0.5;

  static Samples of(Collection<Double> values) {
    double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    if (sorted.length == 0) {
      throw new IllegalArgumentException("no samples");
    }
    return new Samples(sorted);
  }

  Samples {
    sorted = sorted.clone();
    Arrays.sort(sorted);
  }

  /** The value below which {@code share} of all lie, interpolated between its neighbours. */
  double quantile(double share) {
    double place = share * (sorted.length - 1);
    int below = (int) place;
    int above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
  }

  double median() {
    return quantile(HALF);
  }

  /** The least disturbed estimate of a latency. */
  double low() {
    return quantile(TENTH);
  }

  double high() {
    return quantile(1 - TENTH);
  }
}
