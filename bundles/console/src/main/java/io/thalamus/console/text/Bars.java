// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.text;

/** Bars out of block characters, in eighths of a column. Stateless. */
public final class Bars {
  private static final String EIGHTHS = " ▏▎▍▌▋▊▉";
  private static final int PARTS = 8;

  private Bars() {}

  /**
   * A bar without spaces behind it.
   *
   * @param fraction of the width, cut to [0, 1]; NaN gives none
   * @param width columns of a full bar
   */
  public static String bar(double fraction, int width) {
    double cut = Double.isNaN(fraction) ? 0 : Math.clamp(fraction, 0.0, 1.0);
    long eighths = Math.round(cut * width * PARTS);
    int part = (int) (eighths % PARTS);
    return "█".repeat((int) (eighths / PARTS)) + (part == 0 ? "" : EIGHTHS.charAt(part));
  }
}
