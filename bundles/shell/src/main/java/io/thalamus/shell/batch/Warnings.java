// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.batch;

import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/**
 * The warnings of the JDK's logging, one line each, in place of the two that it would write into
 * the middle of results. Thread-safe. For the process of the launcher alone, whose logging it takes
 * over for good.
 */
final class Warnings extends Handler {
  private final Consumer<String> lines;
  private final SimpleFormatter words = new SimpleFormatter();
  private String last = "";

  private Warnings(Consumer<String> lines) {
    this.lines = lines;
    setLevel(Level.WARNING);
  }

  /** Sends warnings to a consumer instead of standard error. */
  static void to(Consumer<String> lines) {
    Logger root = LogManager.getLogManager().getLogger("");
    for (Handler handler : root.getHandlers()) {
      root.removeHandler(handler);
    }
    root.addHandler(new Warnings(lines));
  }

  @Override
  public void publish(LogRecord record) {
    if (!isLoggable(record)) {
      return;
    }
    Throwable cause = record.getThrown();
    String line = words.formatMessage(record) + (cause == null ? "" : ": " + cause);
    String first = line.lines().findFirst().orElse("");
    synchronized (this) {
      if (first.equals(last)) {
        return;
      }
      last = first;
    }
    lines.accept(first);
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
