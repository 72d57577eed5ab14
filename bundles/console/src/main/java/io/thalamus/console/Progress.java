// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import io.thalamus.console.text.Units;
import java.io.PrintStream;

/**
 * Some lines on standard error that are overwritten while work goes on, and nothing where standard
 * error is no terminal. Thread-safe.
 */
public final class Progress implements AutoCloseable {
  private static final long PAUSE_NANOS = 100_000_000;

  /** To the start of the line, and all below is removed. */
  private static final String CLEAR = "\r\u001b[J";

  private final PrintStream err;
  private final boolean watched;
  private final int width;
  private long last;
  private String shown = "";
  private int failed;

  /**
   * Progress on a stream.
   *
   * @param width columns of the terminal, beyond which it wraps a line
   */
  Progress(PrintStream err, boolean watched, int width) {
    this.err = err;
    this.watched = watched;
    this.width = width;
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

  /** Shows a line, or lines, unless the last were shown a moment ago. */
  public synchronized void say(String text) {
    if (watched && System.nanoTime() - last >= PAUSE_NANOS) {
      last = System.nanoTime();
      write(clear() + text);
      shown = text;
    }
  }

  private String clear() {
    long up = shown.lines().mapToLong(this::rows).sum() - 1;
    return (up > 0 ? "\u001b[" + up + "A" : "") + CLEAR;
  }

  /** Returns the rows of the screen that a line takes; colours take no place. */
  private long rows(String line) {
    int columns = line.replaceAll("\u001b\\[[0-9;]*m", "").length();
    return Math.max(1, Math.ceilDiv(columns, width));
  }

  /**
   * Removes what is shown, unless the caller is interrupted: then the shell has written on already.
   */
  @Override
  public synchronized void close() {
    if (!shown.isEmpty() && !Thread.currentThread().isInterrupted()) {
      write(clear());
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
