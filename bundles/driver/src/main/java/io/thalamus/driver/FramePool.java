// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.memory.ReferenceCount;
import java.util.ArrayDeque;
import java.util.function.Supplier;

/**
 * The frames of one prepared model, as many as executions ever ran at once. Thread-safe; owned by
 * the prepared model.
 */
final class FramePool<F> {
  private final ArrayDeque<F> free = new ArrayDeque<>();
  private final ReferenceCount uses;

  /**
   * An empty pool.
   *
   * @param onIdle frees the memory of the frames; called once, when the pool is closed and no frame
   *     is in use
   */
  FramePool(Runnable onIdle) {
    this.uses = new ReferenceCount(onIdle);
  }

  /** Takes a frame for one run; null if the pool is closed. */
  F take(Supplier<F> source) {
    if (!uses.retain()) {
      return null;
    }
    F frame = null;
    try {
      synchronized (free) {
        frame = free.poll();
        if (frame == null) {
          frame = source.get();
        }
      }
      return frame;
    } finally {
      if (frame == null) {
        uses.release();
      }
    }
  }

  /** Returns a frame that was taken. */
  void release(F frame) {
    synchronized (free) {
      free.push(frame);
    }
    uses.release();
  }

  /** Returns whether further runs are refused. */
  boolean isClosed() {
    return uses.isClosed();
  }

  /** Refuses further runs. Calling it again does nothing. */
  void close() {
    uses.close();
  }
}
