// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.http.HttpException;
import io.thalamus.http.HttpExchange;
import io.thalamus.http.Route;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The handlers of calls that read or write small JSON. */
final class Handlers {
  private final Limits limits;

  Handlers(Limits limits) {
    this.limits = limits;
  }

  /** Writes an answer. */
  @FunctionalInterface
  interface Answer {
    void write(JsonGenerator json) throws IOException, ServingException;
  }

  /** A call without a body that matters. */
  @FunctionalInterface
  interface Call {
    Answer answer(HttpExchange exchange) throws ServingException;
  }

  /** A call with a body, which may be empty. */
  @FunctionalInterface
  interface BodyCall {
    Answer answer(HttpExchange exchange, MemorySegment body) throws ServingException;
  }

  /** Returns the version that the path names. */
  static Optional<String> version(HttpExchange exchange, boolean hasVersion) {
    return hasVersion ? Optional.of(exchange.part("version")) : Optional.empty();
  }

  Route.Handler of(Call call) {
    return exchange -> {
      try {
        send(exchange, call.answer(exchange));
      } catch (ServingException e) {
        Failures.answer(exchange, e);
      }
    };
  }

  Route.Handler withBody(BodyCall call) {
    return exchange -> handle(exchange, call);
  }

  private void handle(HttpExchange exchange, BodyCall call) throws HttpException {
    try (RequestMemory memory = limits.memory(exchange)) {
      send(exchange, call.answer(exchange, limits.body(exchange, memory)));
    } catch (ServingException e) {
      Failures.answer(exchange, e);
    }
  }

  private static void send(HttpExchange exchange, Answer answer) throws ServingException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
    try (JsonGenerator json = JsonCursor.FACTORY.createGenerator(bytes)) {
      answer.write(json);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    exchange.send(
        200,
        Map.of("Content-Type", "application/json"),
        List.of(MemorySegment.ofArray(bytes.toByteArray())));
  }
}
