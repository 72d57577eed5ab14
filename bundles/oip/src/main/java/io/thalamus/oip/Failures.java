// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.thalamus.http.HttpExchange;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** The messages to clients when something is wrong. */
final class Failures {
  /** Longer texts of clients are cut in messages. */
  private static final int LONGEST = 80;

  private Failures() {}

  static ServingException invalid(String message) {
    return new ServingException(Failure.INVALID_ARGUMENT, message);
  }

  static ServingException unsupported(String message) {
    return new ServingException(Failure.UNSUPPORTED, message);
  }

  static ServingException tooLarge(String message) {
    return new ServingException(Failure.TOO_LARGE, message);
  }

  /** A failure that ends soon, though nobody knows when. */
  static ServingException soon(Failure failure, String message) {
    return new ServingException(failure, message, Optional.of(Duration.ofSeconds(1)), null);
  }

  /** The text is no JSON. */
  static ServingException notJson(JsonProcessingException e) {
    String message = line(e.getOriginalMessage());
    String where = e.getLocation() == null ? "" : " at byte " + e.getLocation().getByteOffset();
    return new ServingException(
        Failure.INVALID_ARGUMENT,
        "the request is not right JSON" + where + ": " + message,
        Optional.empty(),
        e);
  }

  /** Returns a text of a client for a message. */
  static String quote(String text) {
    return "'" + cut(text) + "'";
  }

  /** Returns a text of a client for a message, cut and in one line. */
  static String cut(String text) {
    String line = text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "...";
    return line(line);
  }

  private static String line(String text) {
    return text == null ? "" : text.replaceAll("\\s*[\\p{Cntrl}]+\\s*", " ");
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
