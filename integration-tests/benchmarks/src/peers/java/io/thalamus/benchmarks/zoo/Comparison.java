// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.zoo;

import io.thalamus.model.Elements;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The difference of a model's results from those of its peers.
 *
 * @param isRight whether it is within what the peers' own computation leaves open
 * @param text for the table
 */
record Comparison(boolean isRight, String text) {
  private static final double FLOAT_SHARE = 1e-4;
  private static final double HALF_SHARE = 1e-2;

  /** Engines that quantize activations as they run differ from those that do not. */
  private static final double HYBRID_SHARE = 0.08;

  private static final double SMALL = 1e-6;

  /** Of 65,536: as small a share as that of floats. */
  private static final double FINE_STEPS = 4;

  /**
   * Compares.
   *
   * @param peers the results of each peer
   * @param isHybrid whether an engine may quantize activations as it runs
   * @param isHalf whether something in the file is float16
   */
  static Comparison of(
      List<Value> ours, List<List<Value>> peers, boolean isHybrid, boolean isHalf) {
    List<Value> first = peers.getFirst();
    if (ours.size() != first.size()) {
      return new Comparison(false, ours.size() + " outputs, not " + first.size());
    }
    Comparison worst = new Comparison(true, "");
    for (int i = 0; i < ours.size(); i++) {
      int index = i;
      Comparison one =
          of(
              ours.get(i),
              peers.stream().map(values -> values.get(index)).toList(),
              isHybrid ? HYBRID_SHARE : isHalf ? HALF_SHARE : FLOAT_SHARE);
      if (!one.isRight()) {
        return new Comparison(false, "output " + i + ": " + one.text());
      }
      worst = one.text().compareTo(worst.text()) > 0 ? one : worst;
    }
    return worst;
  }

  private static Comparison of(Value ours, List<Value> peers, double share) {
    Value peer = peers.getFirst();
    if (ours.elements() != peer.elements()
        || !Arrays.equals(ours.trimmed(), peer.trimmed())
        || ours.count() != peer.count()) {
      return new Comparison(false, ours.text() + " instead of " + peer.text());
    }
    double least = Double.POSITIVE_INFINITY;
    double spread = 0;
    double largest = 0;
    for (Value other : peers) {
      least = Math.min(least, difference(ours, other));
      spread = Math.max(spread, difference(peer, other));
    }
    for (int i = 0; i < peer.count(); i++) {
      double size = Math.abs(peer.get(i));
      largest = Double.isFinite(size) ? Math.max(largest, size) : largest;
    }
    if (peer.elements().isFloat()) {
      double allowed = share * largest + 10 * spread + SMALL;
      return new Comparison(
          least <= allowed,
          String.format(Locale.ROOT, "%.1e of %.1e", least, largest)
              + (spread > 0 ? String.format(Locale.ROOT, " (peers %.1e)", spread) : ""));
    }
    double steps = peer.elements() == Elements.INT16 ? FINE_STEPS : 1;
    double allowed = peer.scale() == 0 ? 0 : steps + 2 * spread;
    return new Comparison(
        least <= allowed,
        least == 0
            ? "equal"
            : String.format(Locale.ROOT, "%.0f quanta (peers %.0f)", least, spread));
  }

  private static double difference(Value a, Value b) {
    double most = 0;
    for (int i = 0; i < Math.min(a.count(), b.count()); i++) {
      double one = a.get(i);
      double other = b.get(i);
      if (Double.compare(one, other) != 0 && one != other) {
        double difference = Math.abs(one - other);
        most = Math.max(most, Double.isNaN(difference) ? Double.POSITIVE_INFINITY : difference);
      }
    }
    return most;
  }
}
