// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Tells what a proof finds as {@code name = value} lines. Thread-safe where its sink is. */
public final class Figures {
  private static final String BROKEN = "broken = ";

  private final Consumer<String> out;
  private final AtomicInteger broken = new AtomicInteger();

  /** Tells each line to {@code out}. */
  public Figures(Consumer<String> out) {
    this.out = out;
  }

  /** A line of another {@link Figures}, whose broken promises are broken here too. */
  public void line(String line) {
    if (line.startsWith(BROKEN)) {
      broken.incrementAndGet();
    }
    out.accept(line);
  }

  /** Prints a figure. */
  public void figure(String name, Object value) {
    out.accept(name + " = " + value);
  }

  /** Prints a figure with three digits behind the point. */
  public void decimal(String name, double value) {
    figure(name, String.format(Locale.ROOT, "%.3f", value));
  }

  /** States a promise; one that is broken makes the run fail at its end. */
  public void promise(String what, boolean kept) {
    if (!kept) {
      line(BROKEN + what);
    }
  }

  /** Returns the number of promises that were broken so far. */
  public int broken() {
    return broken.get();
  }
}
