// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory of a request: values of its inputs and outputs, off the heap. It is counted against
 * what all requests may have, and freed when this is closed, once. Thread-safe.
 */
final class RequestMemory implements AutoCloseable {
  private static final int ALIGNMENT = 64;

  /** The most bytes of a segment. */
  private static final long LARGEST = Integer.MAX_VALUE - 1024;

  /** The memory that requests may have, and that they have. Thread-safe. */
  record Budget(ByteBufAllocator allocator, long limit, AtomicLong held) {}

  private final Budget budget;
  private final List<ByteBuf> buffers = new ArrayList<>();
  private long own;
  private boolean isClosed;

  RequestMemory(Budget budget) {
    this.budget = budget;
  }

  /**
   * Returns memory, aligned by 64 bytes and not zeroed.
   *
   * @throws ServingException with TOO_LARGE if it is never there, BUSY if it is used
   */
  synchronized MemorySegment allocate(String what, long bytes) throws ServingException {
    long most = Math.min(LARGEST, budget.limit());
    if (bytes > most) {
      throw new ServingException(
          Failure.TOO_LARGE, what + " needs " + bytes + " bytes: expected at most " + most);
    }
    if (isClosed) {
      throw new IllegalStateException("the request has ended");
    }
    own += bytes;
    if (budget.held().addAndGet(bytes) > budget.limit()) {
      throw busy(what, bytes, "other requests use what there is");
    }
    int capacity = (int) bytes + ALIGNMENT;
    ByteBuf buffer;
    try {
      buffer = budget.allocator().directBuffer(capacity, capacity);
    } catch (OutOfMemoryError e) {
      // Of memory outside the heap alone: nothing else is short of it.
      throw busy(what, bytes, "there is none outside the heap");
    }
    buffers.add(buffer);
    MemorySegment all = MemorySegment.ofBuffer(buffer.nioBuffer(0, capacity));
    return all.asSlice(-all.address() & ALIGNMENT - 1, bytes);
  }

  private static ServingException busy(String what, long bytes, String reason) {
    return new ServingException(
        Failure.BUSY,
        "no memory for the " + bytes + " bytes of " + what + ": " + reason,
        Optional.of(Duration.ofSeconds(1)),
        null);
  }

  @Override
  public synchronized void close() {
    if (!isClosed) {
      isClosed = true;
      buffers.forEach(ByteBuf::release);
      buffers.clear();
      budget.held().addAndGet(-own);
    }
  }
}
