// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.util.ArrayDeque;
import java.util.function.Supplier;

/**
 * The frames of one prepared model, as many as executions ever ran at once. Thread-safe. Whoever is
 * told so, by {@link #giveBack} or {@link #close}, gives back what the frames stand in.
 */
final class FramePool<F> {
  private final ArrayDeque<F> free = new ArrayDeque<>();
  private int taken;
  private boolean closed;

  /** A frame for one run, or null where the pool is closed. */
  synchronized F take(Supplier<F> source) {
    if (closed) {
      return null;
    }
    F frame = free.poll();
    if (frame == null) {
      frame = source.get();
    }
    taken++;
    return frame;
  }

  /** Whether that was the last frame of a closed pool. */
  synchronized boolean giveBack(F frame) {
    free.push(frame);
    taken--;
    return isDone();
  }

  /** Whether no frame is in use. False where it was closed before. */
  synchronized boolean close() {
    if (closed) {
      return false;
    }
    closed = true;
    return isDone();
  }

  private boolean isDone() {
    boolean done = closed && taken == 0;
    if (done) {
      free.clear();
    }
    return done;
  }
}
