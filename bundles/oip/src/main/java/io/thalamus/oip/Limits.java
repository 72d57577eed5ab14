// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import io.thalamus.http.HttpException;
import io.thalamus.http.HttpExchange;
import io.thalamus.serving.ServingException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/** The memory that requests may need beside their bodies, and that they need now. Thread-safe. */
final class Limits {
  private final long inflated;
  private final long memory;
  private final AtomicLong held = new AtomicLong();

  Limits(OipSettings settings) {
    inflated = settings.inflatedLimit();
    memory = settings.memoryLimit();
  }

  /** Returns memory for a request. */
  RequestMemory memory(HttpExchange exchange) {
    return new RequestMemory(exchange, held, memory);
  }

  /** Returns the body of a request as it was before it was compressed, if it was. */
  MemorySegment body(HttpExchange exchange, RequestMemory from)
      throws HttpException, ServingException {
    return Coding.decode(exchange.headers(), exchange.body(), from, inflated);
  }

  /** Returns the bytes that requests have now. */
  long held() {
    return held.get();
  }
}
