// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.time.Duration;
import java.util.Optional;

/** The kinds of failure that the runtime's codes stand for. */
final class Codes {
  /** For what ends by itself soon, where nobody measured how soon. */
  private static final Duration SOON = Duration.ofSeconds(1);

  private Codes() {}

  static Failure failure(ResultCode code) {
    return switch (code) {
      case BAD_DATA, UNEXPECTED_NULL, OUTPUT_INSUFFICIENT_SIZE -> Failure.INVALID_ARGUMENT;
      case RESOURCE_EXHAUSTED_TRANSIENT -> Failure.BUSY;
      case RESOURCE_EXHAUSTED_PERSISTENT -> Failure.UNPROCESSABLE;
      case MISSED_DEADLINE_TRANSIENT, MISSED_DEADLINE_PERSISTENT -> Failure.DEADLINE_EXCEEDED;
      case UNAVAILABLE_DEVICE, DEAD_OBJECT -> Failure.UNAVAILABLE;
      case NO_ERROR, OUT_OF_MEMORY, INCOMPLETE, OP_FAILED, BAD_STATE, UNMAPPABLE ->
          Failure.INTERNAL;
    };
  }

  /** Returns the failure of an execution. */
  static ServingException of(ExecutionReport report) {
    return of(report.code(), report.message(), report.retryAfter(), null);
  }

  /** Returns the failure of another call of the runtime. */
  static ServingException of(String prefix, NeuralNetworksException e) {
    return of(e.code(), prefix + e.getMessage(), e.retryAfter(), e);
  }

  private static ServingException of(
      ResultCode code, String message, Optional<Duration> retryAfter, Throwable cause) {
    Failure failure = failure(code);
    boolean isSoon = failure == Failure.UNAVAILABLE || failure == Failure.BUSY;
    Optional<Duration> when = retryAfter.isEmpty() && isSoon ? Optional.of(SOON) : retryAfter;
    String line = message.isEmpty() ? "the execution ended with " + code : oneLine(message);
    return new ServingException(failure, line, when, cause);
  }

  /** Returns a time as people read it: below a millisecond in microseconds. */
  static String text(Duration time) {
    return time.toMillis() > 0
        ? time.plusNanos(500_000).toMillis() + " ms"
        : time.toNanos() / 1_000 + " us";
  }

  static String oneLine(String message) {
    return message.replaceAll("\\s*[\\r\\n]+\\s*", " ");
  }
}
