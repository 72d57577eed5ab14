// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import io.thalamus.burst.BurstStatistics;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The page beside the two queues of a burst of version 2. Thread-safe as said below; the memory
 * stays owned by its owner, who has it mapped as long as this is used.
 *
 * <pre>
 *    0  cancelled   requests up to this number are cancelled     written by the client
 *    8  stand back  1 while a control of the client pauses         written by the client
 *  128  clock       System.nanoTime() of the server, at opening  written by the server
 *  136  ended       1 when the server has ended
 *  144  packets     that were read
 *  152  executions  that were begun
 *  160  slots       whose memory was fetched
 *  168  checkpoints that the server has passed
 *  176  others      nanoseconds that the device has spent on others while requests waited in it
 * 1024  end of each request in its queue, by number modulo 128   written by the client
 * 2048  end of each result in its queue, by number modulo 128    written by the server
 * </pre>
 *
 * <p>All are 64 bits wide and have one writer. Requests and results have numbers from 1 on; an end
 * is the number of elements that were ever written to the queue, this packet included.
 *
 * <p>Why the order of accesses is right:
 *
 * <ul>
 *   <li>An end is written before the packet is committed to the queue, which is a release, and read
 *       after the counter of the queue was, which is an acquire: the reader of packet n sees end n.
 *       It is overwritten by the end of packet n + 128, which is not sent before the client has
 *       received result n, as at most 128 are under way. The server wrote that result after it had
 *       read end n; the client writes end n + 128 after it has read it, release and acquire again.
 *       For results likewise: result n + 128 answers a request that was sent after result n was
 *       received. So no end is read too late, and none while it is written.
 *   <li>The number of cancelled requests only grows, and nothing else is read because of it. A
 *       server that sees it late stops at the next checkpoint. Opaque accesses are enough: they are
 *       not torn, and become visible in finite time. The same holds of the word to stand back, and
 *       of checkpoints and the time of others, which nobody compares with anything but themselves.
 *   <li>Packets, executions and slots are written before the result is committed: the client that
 *       has received result n sees counts that have request n in them.
 *   <li>Ended is written by a release after the last result was committed, and read by an acquire
 *       before the queue is looked at a last time: a client that sees it misses no result.
 *   <li>The clock is written before the server is set up, and read after it was.
 * </ul>
 */
public final class ControlPage {
  /** Bytes of the page. */
  public static final int SIZE = 4096;

  /** The largest number of requests that may be under way. */
  public static final int MAX_DEPTH = 128;

  private static final long CANCELLED = 0;
  private static final long STAND_BACK = 8;
  private static final long CLOCK = 128;
  private static final long ENDED = 136;
  private static final long PACKETS = 144;
  private static final long EXECUTIONS = 152;
  private static final long SLOTS = 160;
  private static final long CHECKPOINTS = 168;
  private static final long OTHERS = 176;
  private static final long REQUEST_ENDS = 1024;
  private static final long RESULT_ENDS = 2048;

  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  private final MemorySegment segment;

  private ControlPage(MemorySegment segment) {
    this.segment = segment;
  }

  /**
   * Returns the page in a memory.
   *
   * @throws IllegalArgumentException if the memory is too small, or read-only
   */
  public static ControlPage of(SharedMemory memory) {
    if (memory.size() < SIZE || memory.isReadOnly()) {
      throw new IllegalArgumentException("a control page has 4096 bytes that can be written");
    }
    return new ControlPage(memory.segment());
  }

  /** Returns a page for one side alone: the other side of a burst of version 1 has none. */
  public static ControlPage unshared() {
    return new ControlPage(MemorySegment.ofArray(new long[SIZE / Long.BYTES]));
  }

  /** Cancels requests up to a number. */
  public void cancel(long request) {
    long before;
    do {
      before = (long) LONG.getOpaque(segment, CANCELLED);
    } while (before < request && !LONG.weakCompareAndSetPlain(segment, CANCELLED, before, request));
  }

  /** Returns whether a request is cancelled. */
  public boolean isCancelled(long request) {
    return (long) LONG.getOpaque(segment, CANCELLED) >= request;
  }

  /** Has the server wait at its checkpoints, or go on. */
  public void setStandBack(boolean value) {
    LONG.setOpaque(segment, STAND_BACK, value ? 1L : 0L);
  }

  /** Returns whether the server is to wait at its checkpoints. */
  public boolean isStandBack() {
    return (long) LONG.getOpaque(segment, STAND_BACK) != 0;
  }

  /** Has the client compare clocks; called by the server when it is set up. */
  public void stampClock() {
    LONG.setOpaque(segment, CLOCK, System.nanoTime());
  }

  /**
   * Returns whether the clock of the server reads as that of this process does: its stamp then lies
   * between two readings of this process, and differs by less than the time between them.
   *
   * @param before {@link System#nanoTime()} before the server was set up
   */
  public boolean isClockShared(long before) {
    long stamp = (long) LONG.getOpaque(segment, CLOCK);
    return stamp - before >= 0 && System.nanoTime() - stamp >= 0;
  }

  /**
   * Says that the server has ended. Called by the server, or by the observer of the end of its
   * process: clients learn of it within 20 ms.
   */
  public void end() {
    LONG.setRelease(segment, ENDED, 1L);
  }

  /** Returns whether the server has ended. */
  public boolean hasEnded() {
    return (long) LONG.getAcquire(segment, ENDED) != 0;
  }

  /** Counts a packet that was read; its number is the count. */
  public long countPacket() {
    return count(PACKETS, 1);
  }

  /** Counts an execution that begins. */
  public void countExecution() {
    count(EXECUTIONS, 1);
  }

  /** Counts slots whose memory was fetched. */
  public void countSlots(int number) {
    count(SLOTS, number);
  }

  /** Counts a checkpoint, as a sign of life. */
  public void countCheckpoint() {
    count(CHECKPOINTS, 1);
  }

  /** Returns how many checkpoints were counted. */
  public long checkpoints() {
    return (long) LONG.getOpaque(segment, CHECKPOINTS);
  }

  /** Counts time that the device has spent on others. */
  public void countOthers(long nanos) {
    count(OTHERS, nanos);
  }

  /** Returns for how many nanoseconds the device has worked on others. */
  public long othersNanos() {
    return (long) LONG.getOpaque(segment, OTHERS);
  }

  private long count(long offset, long more) {
    long now = (long) LONG.get(segment, offset) + more;
    LONG.setOpaque(segment, offset, now);
    return now;
  }

  /** Returns the counts. */
  public BurstStatistics statistics() {
    return new BurstStatistics(
        (long) LONG.getOpaque(segment, PACKETS),
        (long) LONG.getOpaque(segment, EXECUTIONS),
        (long) LONG.getOpaque(segment, SLOTS));
  }

  /** Writes where a request ends, before it is written to the queue. */
  public void setRequestEnd(long number, long end) {
    LONG.setOpaque(segment, place(REQUEST_ENDS, number), end);
  }

  /** Writes where a result ends, before it is written to the queue. */
  public void setResultEnd(long number, long end) {
    LONG.setOpaque(segment, place(RESULT_ENDS, number), end);
  }

  /**
   * Returns the number of elements of a request at the front of the queue. If the page does not say
   * it, everything there is one packet, as in version 1.
   *
   * @param read how many elements were ever read
   * @param available how many are there, at least one
   */
  public int requestLength(long number, long read, int available) {
    return length(place(REQUEST_ENDS, number), read, available);
  }

  /** Returns the number of elements of a result, as {@link #requestLength} does for a request. */
  public int resultLength(long number, long read, int available) {
    return length(place(RESULT_ENDS, number), read, available);
  }

  private int length(long place, long read, int available) {
    long length = (long) LONG.getOpaque(segment, place) - read;
    return length > 0 && length <= available ? (int) length : available;
  }

  private static long place(long table, long number) {
    return table + (number % MAX_DEPTH) * Long.BYTES;
  }
}
