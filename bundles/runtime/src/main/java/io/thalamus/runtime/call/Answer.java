// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The end of a call of a driver, as its caller sees it. Immutable.
 *
 * @param <T> what the driver returns
 */
public sealed interface Answer<T> {
  /**
   * The driver returned.
   *
   * @param value may be null, as a driver may be wrong
   */
  record Answered<T>(T value) implements Answer<T> {}

  /** There is no value, for a reason that has a status and a text. */
  sealed interface Unanswered<T> extends Answer<T> {
    /** Returns the HAL's word for the reason; neither NONE nor OUTPUT_INSUFFICIENT_SIZE. */
    ErrorStatus status();

    /** Returns the reason in words, with the device as "it". */
    String message();

    /** Returns the time after which the same call may succeed; empty without an estimate. */
    default Optional<Duration> retryAfter() {
      return Optional.empty();
    }
  }

  /**
   * The driver threw.
   *
   * @param thrown null when there was no memory left to keep it
   */
  record Failed<T>(ErrorStatus status, String message, Throwable thrown) implements Unanswered<T> {
    @Override
    public Optional<Duration> retryAfter() {
      return thrown instanceof DeviceException e ? e.retryAfter() : Optional.empty();
    }

    /** Returns whether the driver threw something else than the exception of the HAL. */
    public boolean isBroken() {
      return !(thrown instanceof DeviceException);
    }
  }

  /**
   * The driver was not called.
   *
   * @param retryAfter the time after which it may be, as the runtime estimates it
   */
  record Refused<T>(ErrorStatus status, String message, Optional<Duration> retryAfter)
      implements Unanswered<T> {
    /** A refusal that nobody can say the end of. */
    public Refused(ErrorStatus status, String message) {
      this(status, message, Optional.empty());
    }

    /** Returns whether the runtime refused work that is too much for it now. */
    public boolean isForLoad() {
      return status == ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT;
    }
  }

  /**
   * The caller goes on without an answer. The driver still works, and may still write to the
   * memories that it was given: they must not be used for anything else.
   *
   * @param limit of the call
   */
  record Abandoned<T>(Abandonment why, Duration limit) implements Unanswered<T> {
    @Override
    public ErrorStatus status() {
      return why.status();
    }

    @Override
    public String message() {
      return why.message(limit);
    }
  }

  /** Passes on the value of the driver, if there is one. */
  default void ifAnswered(Consumer<? super T> consumer) {
    if (this instanceof Answered<T> answered) {
      consumer.accept(answered.value());
    }
  }

  /** Returns whether the call reached its limit. */
  default boolean isHung() {
    return this instanceof Abandoned<T> abandoned && abandoned.why() == Abandonment.HUNG;
  }

  /**
   * Returns the value of the driver.
   *
   * @param device names the device in messages
   * @throws DeviceException with the reason when there is no value
   */
  default T orThrow(String device) throws DeviceException {
    return switch (this) {
      case Answered<T> answered -> answered.value();
      case Failed<T> failed when failed.thrown() instanceof DeviceException e -> {
        throw e.status() == failed.status()
            ? e
            : new DeviceException(failed.status(), failed.message(), failed.retryAfter(), e);
      }
      case Failed<T> failed ->
          throw new DeviceException(
              failed.status(), device + ": " + failed.message(), failed.thrown());
      case Unanswered<T> none ->
          throw new DeviceException(
              none.status(), device + ": " + none.message(), none.retryAfter(), null);
    };
  }
}
