// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A client of a served model, over one of the protocols. Used by one thread. */
interface Caller extends AutoCloseable {
  /** The end of a request, in one word. */
  enum Outcome {
    ANSWERED,
    /** Too much is waiting. */
    BUSY,
    /** The server does not serve: it said so. */
    UNAVAILABLE,
    /** The limit of the request has passed. */
    LATE,
    /** There was no connection: nothing was begun. */
    NOT_TAKEN,
    FAILED,
    /** It was sent, and nobody answered. */
    LOST
  }

  /**
   * A request for all outputs of a model with one input.
   *
   * @param timeoutMillis 0 for none
   * @param priority as Triton has it: 0 is the usual one, 1 the highest
   */
  record Question(
      String model,
      String input,
      String datatype,
      List<Long> shape,
      byte[] value,
      long timeoutMillis,
      int priority) {
    /** Returns a request for the sample. */
    static Question ofDigits(byte[] value) {
      return new Question("digits", "picture", "INT8", List.of(1L, 28L, 28L, 1L), value, 0, 0);
    }

    /** Returns the same one with a limit and a priority. */
    Question with(long millis, int rank) {
      return new Question(model, input, datatype, shape, value, millis, rank);
    }
  }

  /**
   * The end of a request.
   *
   * @param value of the first output; empty without an answer
   * @param queueMicros how long the request waited in the server; 0 without an answer
   * @param computeMicros how long it was computed; 0 without an answer
   * @param why for people; empty after an answer
   * @param retryAfter when to try again, where the server says so
   */
  record Reply(
      Outcome outcome,
      String version,
      String ranOn,
      byte[] value,
      long queueMicros,
      long computeMicros,
      String why,
      Optional<Duration> retryAfter) {
    static Reply without(Outcome outcome, String why, Optional<Duration> retryAfter) {
      return new Reply(outcome, "", "", new byte[0], 0, 0, why, retryAfter);
    }
  }

  Reply ask(Question question) throws InterruptedException;

  @Override
  void close();
}
