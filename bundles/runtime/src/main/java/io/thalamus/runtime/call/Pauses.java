// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

/** The pauses of a call, which do not count against its limit. Thread-safe. */
@FunctionalInterface
public interface Pauses {
  /** The pauses of a call that is never paused. */
  Pauses NONE = now -> 0;

  /**
   * Returns for how many nanoseconds the call has been paused.
   *
   * @param now the time by the clock of its supervisor
   */
  long pausedNanos(long now);
}
