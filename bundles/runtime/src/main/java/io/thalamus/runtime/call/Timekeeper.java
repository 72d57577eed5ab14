// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import java.time.Duration;
import java.time.Instant;

/**
 * Tells the time, and does things later. Thread-safe. Whoever made it closes it; nothing is done
 * after that.
 */
public interface Timekeeper extends AutoCloseable {
  /** The steady clock, as {@link System#nanoTime()} tells it. */
  long nanoTime();

  /** The time of day, for people. */
  Instant now();

  /** Runs a task once, in a thread of its own, after so much time. */
  void after(Duration delay, Runnable task);

  @Override
  void close();
}
