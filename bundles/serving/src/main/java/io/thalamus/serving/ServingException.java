// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A request failed. The message is one line for the client, as {@code {"error": ...}} has it,
 * whatever names of the client it quotes.
 */
public final class ServingException extends Exception {
  private static final Pattern CONTROLS = Pattern.compile("\\s*\\p{Cntrl}+\\s*");

  private static final long serialVersionUID = 1L;

  private final Failure failure;

  /** Null where there is no estimate. */
  private final Duration retryAfter;

  public ServingException(Failure failure, String message) {
    this(failure, message, Optional.empty(), null);
  }

  /**
   * A failure after which the same request may succeed later.
   *
   * @param retryAfter when, as it is estimated
   * @param cause may be null
   */
  public ServingException(
      Failure failure, String message, Optional<Duration> retryAfter, Throwable cause) {
    // Where it came from matters for faults of ours alone, and under overload most are refusals.
    super(line(message), cause, true, failure == Failure.INTERNAL);
    this.failure = Objects.requireNonNull(failure, "failure");
    this.retryAfter = retryAfter.orElse(null);
  }

  /** Returns a text in one line; an empty one for null. */
  public static String line(String text) {
    return text == null ? "" : CONTROLS.matcher(text).replaceAll(" ");
  }

  /** Returns that of a request that contradicts itself or the model. */
  public static ServingException invalid(String message) {
    return new ServingException(Failure.INVALID_ARGUMENT, message);
  }

  /** Returns that of something that ends by itself, though nobody knows when. */
  public static ServingException soon(Failure failure, String message) {
    return new ServingException(failure, message, Optional.of(Duration.ofSeconds(1)), null);
  }

  /** Returns the kind, which has the codes. */
  public Failure failure() {
    return failure;
  }

  /** Returns the time after which the same request may succeed; empty if nobody estimated it. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }
}
