// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.model.NanoClock;
import java.time.Duration;
import java.time.Instant;

/**
 * A clock that can also do things later. Thread-safe. Its maker closes it; nothing is done after
 * that.
 */
public interface Timekeeper extends NanoClock, AutoCloseable {
  /** Returns the time of a steady clock, as {@link System#nanoTime()} does. */
  @Override
  long nanoTime();

  /** Returns the time of day, for people. */
  Instant now();

  /** Runs a task once, in a thread of its own, after so much time. */
  void after(Duration delay, Runnable task);

  @Override
  void close();
}
