// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.text;

import java.time.Duration;
import java.util.Locale;

/** Sizes, times and numbers as people read them. Stateless. */
public final class Units {
  private static final String[] BINARY = {"KiB", "MiB", "GiB", "TiB"};
  private static final double KIBI = 1024;
  private static final double SMALLEST_PLAIN = 1e-3;
  private static final double LARGEST_PLAIN = 1e6;

  private Units() {}

  /** {@code 512 B}, {@code 12.0 KiB}, {@code 3.4 MiB}. */
  public static String bytes(long bytes) {
    if (bytes < KIBI) {
      return bytes + " B";
    }
    double value = bytes;
    int unit = -1;
    while (value >= KIBI && unit < BINARY.length - 1) {
      value /= KIBI;
      unit++;
    }
    return String.format(Locale.ROOT, value < 100 ? "%.1f %s" : "%.0f %s", value, BINARY[unit]);
  }

  /** {@code 3.2 us}, {@code 850 us}, {@code 12.3 ms}, {@code 1.24 s}, {@code 2 min 5 s}. */
  public static String time(Duration duration) {
    double micros = duration.toNanos() / 1e3;
    if (micros < 1e3) {
      return String.format(
          Locale.ROOT, micros < 10 && micros != Math.rint(micros) ? "%.1f us" : "%.0f us", micros);
    }
    if (micros < 1e6) {
      return String.format(Locale.ROOT, micros < 1e5 ? "%.2f ms" : "%.0f ms", micros / 1e3);
    }
    if (micros < 6e7) {
      return String.format(Locale.ROOT, "%.2f s", micros / 1e6);
    }
    return duration.toMinutes() + " min " + duration.toSecondsPart() + " s";
  }

  /** The same of nanoseconds. */
  public static String time(long nanos) {
    return time(Duration.ofNanos(nanos));
  }

  /** A whole number with thousands set apart: {@code 12,501,632}. */
  public static String count(long count) {
    return String.format(Locale.ROOT, "%,d", count);
  }

  /** A number with at most four significant digits, plain where that is short. */
  public static String number(double value) {
    if (value == Math.rint(value) && Math.abs(value) < LARGEST_PLAIN) {
      return Long.toString((long) value);
    }
    double size = Math.abs(value);
    if (!Double.isFinite(value)) {
      return Double.toString(value);
    }
    if (size < SMALLEST_PLAIN || size >= LARGEST_PLAIN) {
      return String.format(Locale.ROOT, "%.3e", value);
    }
    int decimals = Math.max(0, 3 - (int) Math.floor(Math.log10(size)));
    String text = String.format(Locale.ROOT, "%." + decimals + "f", value);
    return text.contains(".") ? text.replaceFirst("\\.?0+$", "") : text;
  }

  /** {@code 1 step}, {@code 3 steps}. */
  public static String plural(long count, String noun) {
    return count(count) + " " + noun + (count == 1 ? "" : "s");
  }
}
