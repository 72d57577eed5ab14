// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The tiles of one step at a time, claimed one by one by whoever has time. Belongs to one frame and
 * is used for one step after the other; {@link Workers} help.
 *
 * <pre>
 * state    | round: 24 bits | tiles: 20 bits | next tile: 20 bits |
 * </pre>
 *
 * <p>A claim is a compare-and-set of the whole state, so that nobody who read an earlier round can
 * claim a tile of a later one. As long as a claimed tile is not done, its round does not end, and
 * step and frame stay what they are.
 */
final class Job {
  /** The largest number of tiles. */
  static final int MAX_TILES = (1 << 20) - 1;

  private static final int FIELD = 20;
  private static final long MASK = (1L << FIELD) - 1;

  /** Turns of a loop that lasts some 20 microseconds: less than parking and waking costs twice. */
  private static final int SPINS = 2000;

  private final Frame frame;
  private final AtomicLong state = new AtomicLong();
  private final AtomicInteger done = new AtomicInteger();
  private Step step;
  private volatile Thread waiting;
  private volatile Throwable failure;

  Job(Frame frame) {
    this.frame = frame;
  }

  /** Whether a tile is left to be claimed. */
  boolean hasWork() {
    long seen = state.get();
    return (seen & MASK) < ((seen >>> FIELD) & MASK);
  }

  /** Runs tiles until none is left to be claimed. Returns whether there was one. */
  boolean help(int participant) {
    boolean helped = false;
    for (long seen = state.get(); ; seen = state.get()) {
      long tiles = (seen >>> FIELD) & MASK;
      if ((seen & MASK) >= tiles) {
        return helped;
      }
      if (state.compareAndSet(seen, seen + 1)) {
        helped = true;
        runTile((int) (seen & MASK), (int) tiles, participant);
      }
    }
  }

  private void runTile(int tile, int tiles, int participant) {
    try {
      step.run(frame, frame.scratch(participant), tile);
    } catch (RuntimeException | Error e) {
      // The owner of the frame throws it; a helper lives on.
      failure = e;
    } finally {
      if (done.incrementAndGet() == tiles) {
        Thread owner = waiting;
        if (owner != null) {
          LockSupport.unpark(owner);
        }
      }
    }
  }

  /** Makes the tiles of a step available to others. */
  void open(Step next) {
    step = next;
    done.set(0);
    long round = (state.get() >>> (2 * FIELD)) + 1;
    state.set((round << (2 * FIELD)) | ((long) next.tiles() << FIELD));
  }

  /** Runs tiles, and waits until those of others are done too. */
  void finish() {
    help(0);
    int tiles = (int) ((state.get() >>> FIELD) & MASK);
    for (int i = 0; done.get() < tiles && i < SPINS; i++) {
      Thread.onSpinWait();
    }
    if (done.get() < tiles) {
      waiting = Thread.currentThread();
      while (done.get() < tiles) {
        LockSupport.park(this);
      }
      waiting = null;
    }
    Throwable thrown = failure;
    if (thrown != null) {
      failure = null;
      throw new IllegalStateException("a kernel failed: " + thrown, thrown);
    }
  }
}
