// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

/**
 * A request that a device is sent, and that it answers in a thread of its own. Used by the one
 * thread that waits for the answer; from {@link #abandoned} on, by a thread of the runtime.
 *
 * @param <T> what the device answers
 */
public interface Exchange<T> {
  /** Sends the request, and returns whether it was sent: if not, nothing has happened. */
  boolean send();

  /** Waits no longer than this for the answer, and returns it; null if there is none yet. */
  T receive(long timeoutNanos);

  /** Has the device stop at its next checkpoint. */
  void cancel();

  /** Returns the terms of the wait; asked only of a device that takes its time. */
  Terms terms();

  /** Returns when the device could begin, by the clock of its supervisor. */
  long startNanos();

  /**
   * The caller goes on without an answer. The device may still write to the memories of the
   * request, which are kept until {@link #ended}.
   */
  void abandoned();

  /** The device is done with what was abandoned. */
  void ended();
}
