// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.runtime.call.Answer.Answered;

/**
 * A request whose caller waits for the device itself. When the caller gives it up, a thread of the
 * runtime goes on waiting in its place. Thread-safe; used once.
 *
 * @param <T> what the device answers
 */
final class GuardedExchange<T> extends GuardedCall<T> {
  private final Exchange<T> exchange;

  /** The answer that came just when the caller went on; null if none has come. */
  private volatile T received;

  /** A request that was sent, with a limit in its terms. */
  GuardedExchange(Exchange<T> exchange, Timekeeper time) {
    super(exchange.terms(), exchange.startNanos(), time, late -> exchange.ended());
    this.exchange = exchange;
    setWork(this::waitOn);
  }

  private Answer<T> waitOn() {
    T value = received;
    while (value == null) {
      value = exchange.receive(LOOK_NANOS);
    }
    return new Answered<>(value);
  }

  @Override
  boolean pause() {
    // A wait ends at once while the flag is set.
    boolean interrupted = Thread.interrupted();
    T value = exchange.receive(LOOK_NANOS);
    if (value != null) {
      received = value;
      answer(new Answered<>(value));
    }
    return interrupted;
  }

  @Override
  void stop() {
    exchange.cancel();
  }
}
