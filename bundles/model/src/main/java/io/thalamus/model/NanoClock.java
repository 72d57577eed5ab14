// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/**
 * A steady clock, by which deadlines and timeouts are measured. Thread-safe. Another one than the
 * system's is for tests that advance the time themselves.
 */
@FunctionalInterface
public interface NanoClock {
  /** The clock of this process. */
  NanoClock SYSTEM = System::nanoTime;

  /** Returns a time in nanoseconds, which only differences give a meaning. */
  long nanoTime();
}
