// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import io.thalamus.http.HttpExchange;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memory for what a request needs beside its body: values that were text or were compressed, and
 * outputs. It belongs to the exchange, which frees it with the answer; this counts it against what
 * all requests may have. Thread-safe, and closed once.
 */
final class RequestMemory implements AutoCloseable {
  /** The most bytes of a segment. */
  private static final long LARGEST = Integer.MAX_VALUE - 1024;

  private final HttpExchange exchange;
  private final AtomicLong held;
  private final long limit;
  private final AtomicLong own = new AtomicLong();

  /**
   * Memory of an exchange.
   *
   * @param held the bytes of all requests
   * @param limit the bytes that all requests may have
   */
  RequestMemory(HttpExchange exchange, AtomicLong held, long limit) {
    this.exchange = exchange;
    this.held = held;
    this.limit = limit;
  }

  /**
   * Returns memory, aligned by 64 bytes and not zeroed.
   *
   * @throws ServingException with TOO_LARGE if it is never there, BUSY if it is used
   */
  MemorySegment allocate(String what, long bytes) throws ServingException {
    if (bytes > Math.min(LARGEST, limit)) {
      throw Failures.tooLarge(
          what + " needs " + bytes + " bytes: expected at most " + Math.min(LARGEST, limit));
    }
    own.addAndGet(bytes);
    if (held.addAndGet(bytes) > limit) {
      throw busy(what, bytes, "other requests use what there is");
    }
    try {
      return exchange.allocate(bytes);
    } catch (OutOfMemoryError e) {
      // Of memory outside the heap alone: nothing else is short of it.
      throw busy(what, bytes, "there is none outside the heap");
    }
  }

  private static ServingException busy(String what, long bytes, String reason) {
    return Failures.soon(
        Failure.BUSY, "no memory for the " + bytes + " bytes of " + what + ": " + reason);
  }

  @Override
  public void close() {
    held.addAndGet(-own.getAndSet(0));
  }
}
