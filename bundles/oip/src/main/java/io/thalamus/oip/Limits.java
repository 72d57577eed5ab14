// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import io.thalamus.http.HttpException;
import io.thalamus.http.HttpExchange;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import java.lang.foreign.MemorySegment;

/** The memory that requests may need beside their bodies, and that they need now. Thread-safe. */
final class Limits {
  private final long inflated;
  private final RequestMemory.Budget budget;

  Limits(OipSettings settings) {
    inflated = settings.inflatedLimit();
    budget = new RequestMemory.Budget(settings.memoryLimit());
  }

  /** Returns memory for a request. */
  RequestMemory memory(HttpExchange exchange) {
    return new RequestMemory(budget, exchange::allocate);
  }

  /** Returns the body of a request as it was before it was compressed, if it was. */
  MemorySegment body(HttpExchange exchange, RequestMemory from)
      throws HttpException, ServingException {
    return Coding.decode(exchange.headers(), exchange.body(), from, inflated);
  }

  /** Returns the bytes that requests have now. */
  long held() {
    return budget.held();
  }
}
