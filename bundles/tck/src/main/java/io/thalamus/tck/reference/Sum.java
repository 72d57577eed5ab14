// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

/** A sum of products with its bounds, and with what float32 may lose. Used for one element. */
final class Sum {
  /** Half a unit of float32, relative: what each addition and multiplication may lose. */
  static final double LOSS = 0x1p-24;

  private double low;
  private double middle;
  private double high;
  private double magnitude;
  private int terms;

  void add(Bounds a, int i, Bounds b, int j) {
    double ll = a.low()[i] * b.low()[j];
    double lh = a.low()[i] * b.high()[j];
    double hl = a.high()[i] * b.low()[j];
    double hh = a.high()[i] * b.high()[j];
    low += Math.min(Math.min(ll, lh), Math.min(hl, hh));
    high += Math.max(Math.max(ll, lh), Math.max(hl, hh));
    double product = a.middle()[i] * b.middle()[j];
    middle += product;
    magnitude += Math.abs(product);
    terms++;
  }

  void add(Bounds a, int i) {
    low += a.low()[i];
    middle += a.middle()[i];
    high += a.high()[i];
    magnitude += Math.abs(a.middle()[i]);
    terms++;
  }

  /** The sum divided by a positive number. */
  void store(Bounds out, double[] slack, int element, double divisor) {
    out.set(element, low / divisor, middle / divisor, high / divisor);
    slack[element] = LOSS * (terms + 2) * magnitude / divisor;
  }
}
