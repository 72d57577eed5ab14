// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.protocol;

import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that a request needs beside what it came in: values that are to be aligned, were text
 * or were compressed, and outputs. It is counted against what all requests may have, and given back
 * when this is closed, once. Thread-safe.
 */
public final class RequestMemory implements AutoCloseable {
  /** The most that a segment can have. */
  private static final long LARGEST = Integer.MAX_VALUE - 1024;

  /** The bytes that all requests may have, and have. Thread-safe. */
  public static final class Budget {
    private final long limit;
    private final AtomicLong held = new AtomicLong();

    public Budget(long limit) {
      this.limit = limit;
    }

    /** Returns the bytes that requests have now. */
    public long held() {
      return held.get();
    }
  }

  /** The origin of the memory of one request. Not thread-safe. */
  @FunctionalInterface
  public interface Source {
    /** Returns memory off the heap, aligned by 64 bytes and not zeroed. */
    MemorySegment allocate(long bytes);

    /** Takes all of it back, if nobody else does. */
    default void close() {}
  }

  private final Budget budget;
  private final Source source;
  private long own;
  private boolean isClosed;

  public RequestMemory(Budget budget, Source source) {
    this.budget = budget;
    this.source = source;
  }

  /**
   * Returns memory, aligned by 64 bytes and not zeroed.
   *
   * @param what what it is for, as messages name it
   * @throws ServingException with TOO_LARGE if it is never there, BUSY if it is used
   */
  public synchronized MemorySegment allocate(String what, long bytes) throws ServingException {
    long most = Math.min(LARGEST, budget.limit);
    if (bytes > most) {
      throw new ServingException(
          Failure.TOO_LARGE, what + " needs " + bytes + " bytes: expected at most " + most);
    }
    if (isClosed) {
      throw new IllegalStateException("the request has ended");
    }
    own += bytes;
    if (budget.held.addAndGet(bytes) > budget.limit) {
      throw busy(what, bytes, "other requests use what there is");
    }
    try {
      return source.allocate(bytes);
    } catch (OutOfMemoryError e) {
      // Of memory outside the heap alone: nothing else is short of it.
      throw busy(what, bytes, "there is none outside the heap");
    }
  }

  private static ServingException busy(String what, long bytes, String reason) {
    return ServingException.soon(
        Failure.BUSY, "no memory for the " + bytes + " bytes of " + what + ": " + reason);
  }

  @Override
  public synchronized void close() {
    if (!isClosed) {
      isClosed = true;
      source.close();
      budget.held.addAndGet(-own);
    }
  }
}
