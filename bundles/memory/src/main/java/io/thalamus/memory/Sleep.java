// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

/** A way in which threads sleep until a word of shared memory changes. Thread-safe. */
sealed interface Sleep permits Futex, Polling {
  /**
   * Sleeps until the word is woken or the time is over; returns at once where the word is not what
   * is expected. It may return earlier without a reason.
   *
   * @param address of the word, which stays mapped meanwhile
   * @param nanos positive
   * @param round how often this was called in the same wait
   */
  void sleep(long address, int expected, long nanos, int round);

  /** Wakes all threads that sleep at the word, in all processes. */
  void wakeAll(long address);

  /** Returns what {@link EventFlag#implementation} returns. */
  String description();

  /** Returns the best way of this system, which is found at the first call. */
  static Sleep best() {
    return Best.SLEEP;
  }

  /** Initialized at first use, so that a program that never waits links nothing. */
  final class Best {
    private static final Sleep SLEEP = Futex.link();

    private Best() {}
  }
}
