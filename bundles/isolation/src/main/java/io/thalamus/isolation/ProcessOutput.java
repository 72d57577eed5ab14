// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.isolation.wire.Joining;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * The output of a process, in the log: each line by itself, cut where it is long, and no more than
 * so many lines. The rest is read and dropped, so that the process never waits. Owns one thread,
 * which ends with the process.
 */
final class ProcessOutput implements AutoCloseable {
  private static final int MAX_LINE = 500;
  private static final int MAX_LINES = 1000;
  private static final Duration LONGEST_JOIN = Duration.ofSeconds(1);

  private final String name;
  private final Process process;
  private final Consumer<String> log;
  private final Thread thread;
  private int lines;

  ProcessOutput(String name, Process process, Consumer<String> log) {
    this.name = name;
    this.process = process;
    this.log = log;
    this.thread =
        Thread.ofPlatform()
            .daemon()
            .name("thalamus-isolated-" + name + "-output")
            .unstarted(this::read);
  }

  void start() {
    thread.start();
  }

  private void read() {
    StringBuilder line = new StringBuilder();
    try (Reader reader = new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)) {
      for (int next = reader.read(); next >= 0; next = reader.read()) {
        if (next == '\n') {
          log(line);
        } else if (line.length() < MAX_LINE && !Character.isISOControl(next)) {
          line.append((char) next);
        }
      }
    } catch (IOException e) {
      // The process has ended in the middle of a line.
      log(line);
      return;
    }
    log(line);
  }

  private void log(StringBuilder line) {
    if (!line.isEmpty() && lines < MAX_LINES) {
      lines++;
      log.accept("isolated " + name + ": " + line);
      if (lines == MAX_LINES) {
        log.accept("isolated " + name + ": no more than " + lines + " lines are logged");
      }
    }
    line.setLength(0);
  }

  /** Waits until the last line is read, for a process that has ended. */
  @Override
  public void close() {
    Joining.join(thread, LONGEST_JOIN);
  }
}
