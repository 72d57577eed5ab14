// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import io.thalamus.http.HttpExchange;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** The messages to clients when something is wrong. */
final class Failures {
  private Failures() {}

  static ServingException unsupported(String message) {
    return new ServingException(Failure.UNSUPPORTED, message);
  }

  static ServingException tooLarge(String message) {
    return new ServingException(Failure.TOO_LARGE, message);
  }

  /** The text is no JSON. */
  static ServingException notJson(JsonProcessingException e) {
    // Jackson says where a thing began by a place in a source, whose name says nothing.
    String message =
        ServingException.line(e.getOriginalMessage())
            .replaceAll("\\[Source: [^;\\]]*; ([^\\]]*)\\]", "$1");
    JsonLocation place = e.getLocation();
    String where =
        place == null
            ? ""
            : " at line %d, column %d".formatted(place.getLineNr(), place.getColumnNr());
    return new ServingException(
        Failure.INVALID_ARGUMENT,
        "the request is not right JSON" + where + ": " + message,
        Optional.empty(),
        e);
  }

  /** Answers with a failure. */
  static void answer(HttpExchange exchange, ServingException failure) {
    Map<String, String> headers =
        failure
            .retryAfter()
            .map(time -> Map.of("Retry-After", Long.toString(seconds(time))))
            .orElse(Map.of());
    exchange.fail(failure.failure().httpStatus(), failure.getMessage(), headers);
  }

  /** Returns whole seconds, rounded up: who waits them has waited long enough. */
  private static long seconds(Duration time) {
    return Math.max(1, time.plusNanos(999_999_999).toSeconds());
  }
}
