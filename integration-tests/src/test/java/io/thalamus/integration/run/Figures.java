// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.io.PrintStream;

/** Prints what a proof finds as {@code name = value} lines. Not thread-safe. */
final class Figures {
  private final PrintStream out;
  private int broken;

  Figures(PrintStream out) {
    this.out = out;
  }

  void figure(String name, Object value) {
    out.println(name + " = " + value);
  }

  /** States a promise; one that is broken makes the run fail at its end. */
  void promise(String what, boolean kept) {
    if (!kept) {
      broken++;
      out.println("broken = " + what);
    }
  }

  int broken() {
    return broken;
  }
}
