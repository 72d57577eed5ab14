// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.lang.foreign.Arena;
import java.util.ArrayDeque;

/**
 * The frames of one prepared model, as many as executions ever ran at once. Thread-safe. Owns the
 * arena; closing gives it back once the last frame is returned.
 */
final class FramePool {
  private final GraphProgram program;
  private final Runnable whenClosed;
  private final Arena arena = Arena.ofShared();
  private final ArrayDeque<Frame> free = new ArrayDeque<>();
  private int taken;
  private boolean closed;

  FramePool(GraphProgram program, Runnable whenClosed) {
    this.program = program;
    this.whenClosed = whenClosed;
  }

  /** A frame for one run, or null where the pool is closed. */
  synchronized Frame take() {
    if (closed) {
      return null;
    }
    Frame frame = free.poll();
    if (frame == null) {
      frame =
          new Frame(
              program, arena.allocate(Math.max(1, program.memory().size()), MemoryPlan.ALIGNMENT));
    }
    taken++;
    return frame;
  }

  void giveBack(Frame frame) {
    synchronized (this) {
      free.push(frame);
      taken--;
      if (!closed || taken > 0) {
        return;
      }
    }
    release();
  }

  void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      if (taken > 0) {
        return;
      }
    }
    release();
  }

  private void release() {
    arena.close();
    whenClosed.run();
  }
}
