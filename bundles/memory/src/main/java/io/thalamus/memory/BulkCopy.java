// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.lang.foreign.MemorySegment;

/**
 * Copies of tensors. The JVM stops for nothing in the midst of one copy: a collection of garbage,
 * and with it all other threads, would wait for one of 50 MB and its page faults to end. So a large
 * one is made in pieces. Stateless, for any thread.
 */
public final class BulkCopy {
  /** Bytes that take about 0.1 ms, beside which a loop costs nothing. */
  private static final long PIECE = 1 << 20;

  private BulkCopy() {}

  /**
   * Copies bytes as {@link MemorySegment#copy(MemorySegment, long, MemorySegment, long, long)}
   * does, except that the segments must not overlap.
   *
   * @param fromOffset in bytes
   * @param toOffset in bytes
   */
  public static void copy(
      MemorySegment from, long fromOffset, MemorySegment to, long toOffset, long bytes) {
    long done = 0;
    for (; bytes - done > PIECE; done += PIECE) {
      MemorySegment.copy(from, fromOffset + done, to, toOffset + done, PIECE);
    }
    MemorySegment.copy(from, fromOffset + done, to, toOffset + done, bytes - done);
  }
}
