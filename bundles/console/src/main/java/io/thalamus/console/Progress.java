// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import io.thalamus.console.text.Units;
import java.io.PrintStream;

/**
 * A line on standard error that is overwritten while work goes on, and nothing where standard error
 * is no terminal. Thread-safe.
 */
public final class Progress implements AutoCloseable {
  private static final long PAUSE_NANOS = 100_000_000;
  private static final String START_OF_LINE = "\r\u001b[K";

  private final PrintStream err;
  private final boolean watched;
  private long last;
  private boolean shown;
  private int failed;

  Progress(PrintStream err, boolean watched) {
    this.err = err;
    this.watched = watched;
    this.last = System.nanoTime();
  }

  /** Counts one more failure. */
  public synchronized void failed() {
    failed++;
  }

  /** Shows how much is done. */
  public synchronized void at(long count, String what) {
    say(Units.count(count) + " " + what + (failed == 0 ? "" : ", " + failed + " failed"));
  }

  /** Shows a line, unless the last one was shown a moment ago. */
  public synchronized void say(String line) {
    if (watched && System.nanoTime() - last >= PAUSE_NANOS) {
      last = System.nanoTime();
      shown = true;
      write(START_OF_LINE + line);
    }
  }

  /** Removes the line, unless the caller is interrupted: then the shell has written on already. */
  @Override
  public synchronized void close() {
    if (shown && !Thread.currentThread().isInterrupted()) {
      write(START_OF_LINE);
    }
  }

  /**
   * Hides an interrupt from Gogo, which closes terminal and all when an interrupted thread writes.
   */
  private void write(String text) {
    boolean isInterrupted = Thread.interrupted();
    err.print(text);
    err.flush();
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
