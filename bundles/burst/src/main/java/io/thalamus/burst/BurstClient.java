// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The side of a burst that sends requests and receives results: NNAPI's ExecutionBurstController.
 * Thread-safe; threads that send take turns, and so do those that receive. Owned by whoever opened
 * it: one that its owner forgot ends when the garbage collector notices.
 *
 * <p>Results come in the order of the requests. The memories of a request are lent until its result
 * is received, or, when nobody waits for it any more, until the server has answered or the burst is
 * closed.
 */
@ProviderType
public interface BurstClient extends AutoCloseable {
  /**
   * Sends a request. Nothing is executed unless this returns true.
   *
   * @return false when the request cannot be sent: it has an argument by pointer, or something that
   *     the version of the burst cannot say, it is larger than the queue, as many requests as the
   *     depth allows are under way, or the server is gone. Then the caller executes it
   *     synchronously.
   */
  boolean send(Request request, ExecutionConfig config);

  /**
   * Waits for the result of the oldest request that was sent and not received. A thread that serves
   * ({@link BurstSettings#isServedByCaller}) first executes it, however long that takes.
   *
   * <p>Elsewhere this asks the control of that request every now and then. While it pauses this
   * thread, the device stands back: it waits at its next checkpoint. When it says to stop, the
   * device stops there, but in version 1.
   *
   * @param timeoutNanos how long to wait at most; 0 to look once
   * @return null when there is none yet, or nothing is under way; a failure with DEVICE_UNAVAILABLE
   *     when the server is gone
   */
  ExecutionResult receive(long timeoutNanos);

  /**
   * Executes a request in this thread, as {@link #send} and {@link #receive} do together where
   * {@link #isServedByCaller}.
   *
   * @return null when the request cannot be sent, as always where a thread of the server executes
   */
  default ExecutionResult execute(Request request, ExecutionConfig config) {
    return null;
  }

  /**
   * Has the server stop the oldest request that is under way at its next checkpoint, or before it
   * begins; in version 1, does nothing.
   */
  void cancel();

  /**
   * Returns a number that grows while the device passes checkpoints, as a sign of life; does not in
   * version 1.
   */
  long checkpoints();

  /** Returns how many requests were sent and not received. */
  int underWay();

  /**
   * Has the server let go of a memory, once no request under way uses it; an unknown one is
   * ignored. A memory that its owner closes is let go of without this.
   */
  void freeMemory(SharedMemory memory);

  /** Returns whether the driver serves the burst itself. */
  boolean isServedByDriver();

  /** Returns whether requests are executed by the thread that receives their results. */
  default boolean isServedByCaller() {
    return false;
  }

  /** Returns whether the burst can take no more requests: closed, or its server is gone. */
  boolean isBroken();

  /** Returns what the server has done; a driver's own server of version 1 does not say it. */
  BurstStatistics statistics();

  /** Ends the burst. Calling it again does nothing. */
  @Override
  void close();
}
