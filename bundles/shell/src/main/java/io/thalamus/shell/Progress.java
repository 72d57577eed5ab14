// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.shell.format.Units;
import java.io.PrintStream;

/**
 * A line on standard error that is written over while work goes on; nothing where no person
 * watches. Thread-safe.
 */
final class Progress implements AutoCloseable {
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

  static Progress of(Invocation invocation) {
    return new Progress(invocation.err(), invocation.errIsTerminal());
  }

  /** One more thing went wrong. */
  synchronized void failed() {
    failed++;
  }

  /** So much is done. */
  synchronized void at(long count, String what) {
    say(Units.count(count) + " " + what + (failed == 0 ? "" : ", " + failed + " failed"));
  }

  /** Shows a line, unless the last one stands there for too short a time. */
  synchronized void say(String line) {
    if (watched && System.nanoTime() - last >= PAUSE_NANOS) {
      last = System.nanoTime();
      shown = true;
      write(START_OF_LINE + line);
    }
  }

  /** Takes the line away, but not from an interrupted caller: there the shell wrote on already. */
  @Override
  public synchronized void close() {
    if (shown && !Thread.currentThread().isInterrupted()) {
      write(START_OF_LINE);
    }
  }

  /** A Gogo stream is closed for good, terminal and all, where an interrupted thread writes. */
  private void write(String text) {
    boolean isInterrupted = Thread.interrupted();
    err.print(text);
    err.flush();
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
