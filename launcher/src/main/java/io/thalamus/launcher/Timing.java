// SPDX-License-Identifier: Apache-2.0
package io.thalamus.launcher;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The time of one run, as laps since the start script began (or since the JVM did, where the script
 * did not say). Used by one thread.
 */
final class Timing {
  private record Lap(String name, long nanos) {}

  private final List<Lap> laps = new ArrayList<>();
  private final long start;
  private long last;

  Timing(long startedEpochNanos) {
    this.start = startedEpochNanos;
    this.last = startedEpochNanos;
  }

  /** Now, on the clock that a shell's {@code date +%s%N} reads. */
  static long now() {
    java.time.Instant now = java.time.Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  void lap(String name) {
    long now = now();
    laps.add(new Lap(name, now - last));
    last = now;
  }

  void print(PrintStream out) {
    for (Lap lap : laps) {
      out.println(line(lap));
    }
    out.println(line(new Lap("total", last - start)));
  }

  private static String line(Lap lap) {
    return String.format(Locale.ROOT, "timing: %-10s %7.1f ms", lap.name(), lap.nanos() / 1e6);
  }
}
