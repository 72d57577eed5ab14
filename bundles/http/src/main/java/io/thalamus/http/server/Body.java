// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A body that comes in pieces and lies in one piece, with one offset at a multiple of 64 bytes. It
 * takes memory only as bytes come: who announces much and sends nothing costs little. Its memory is
 * counted against the server's. Used by one thread at a time, and closed once.
 */
final class Body implements AutoCloseable {
  /** The alignment, a cache line and the widest vector. */
  static final int ALIGNMENT = 64;

  /** Up to here an announced body gets all its memory at once. */
  private static final int FIRST = 1 << 20;

  private final ByteBufAllocator allocator;
  private final AtomicLong held;
  private final long memoryLimit;
  private final long limit;
  private final int phase;

  /** Null before the first byte. */
  private ByteBuf buffer;

  private int start;
  private int capacity;
  private int size;

  /**
   * An empty body.
   *
   * @param held the bytes of all bodies
   * @param limit the bytes that this one may have
   * @param alignedOffset the offset that is to be aligned
   */
  Body(
      ByteBufAllocator allocator,
      AtomicLong held,
      long memoryLimit,
      long limit,
      long alignedOffset) {
    this.allocator = allocator;
    this.held = held;
    this.memoryLimit = memoryLimit;
    this.limit = limit;
    this.phase = (int) Math.floorMod(alignedOffset, (long) ALIGNMENT);
  }

  /** The outcome of {@link #expect} and {@link #add}. */
  enum Outcome {
    TAKEN,
    /** The body is larger than it may be. */
    TOO_LARGE,
    /** The memory of all bodies is used up. */
    NO_MEMORY
  }

  /** Prepares for as many bytes. */
  Outcome expect(long bytes) {
    if (bytes > limit) {
      return Outcome.TOO_LARGE;
    }
    return bytes == 0 ? Outcome.TAKEN : grow((int) Math.min(bytes, FIRST));
  }

  /** Appends bytes, which it does not keep. */
  Outcome add(ByteBuf piece) {
    long needed = (long) size + piece.readableBytes();
    if (needed > limit) {
      return Outcome.TOO_LARGE;
    }
    if (needed > capacity) {
      Outcome outcome = grow((int) Math.max(needed, Math.min(limit, 2L * capacity)));
      if (outcome != Outcome.TAKEN) {
        return outcome;
      }
    }
    int length = piece.readableBytes();
    if (length > 0) {
      buffer.setBytes(start + size, piece, piece.readerIndex(), length);
      size += length;
    }
    return Outcome.TAKEN;
  }

  private Outcome grow(int wanted) {
    if (held.addAndGet(wanted - capacity) > memoryLimit) {
      held.addAndGet(capacity - wanted);
      return Outcome.NO_MEMORY;
    }
    ByteBuf larger = allocator.directBuffer(wanted + ALIGNMENT - 1, wanted + ALIGNMENT - 1);
    int begin = begin(larger, phase);
    if (buffer != null) {
      larger.setBytes(begin, buffer, start, size);
      buffer.release();
    }
    buffer = larger;
    start = begin;
    capacity = wanted;
    return Outcome.TAKEN;
  }

  /** Returns where a segment begins whose byte {@code phase} is aligned. */
  static int begin(ByteBuf buffer, int phase) {
    long address = MemorySegment.ofBuffer(buffer.nioBuffer(0, buffer.capacity())).address();
    return (int) Math.floorMod(-(address + phase), (long) ALIGNMENT);
  }

  /** Returns the bytes, which are valid until this is closed. */
  MemorySegment segment() {
    return buffer == null
        ? MemorySegment.NULL
        : MemorySegment.ofBuffer(buffer.nioBuffer(start, size));
  }

  @Override
  public void close() {
    held.addAndGet(-capacity);
    capacity = 0;
    size = 0;
    if (buffer != null) {
      buffer.release();
      buffer = null;
    }
  }
}
