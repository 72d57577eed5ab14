// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.tiles;

import io.thalamus.driver.Checkpoint;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The tiles of one step at a time, claimed one by one by whoever has time. Belongs to one execution
 * at a time and is used for one step after the other; {@link Workers} help.
 *
 * <pre>
 * state    | round: 24 bits | end of the tiles left: 20 bits | first tile left: 20 bits |
 * </pre>
 *
 * <p>The caller takes tiles from the front, and every other helper from the back: with two threads,
 * what one of them reads is mostly what it wrote in the step before, and still in its own cache.
 *
 * <p>A claim is a compare-and-set of the whole state, so that nobody who read an earlier round can
 * claim a tile of a later one. As long as a claimed tile is not done, its round does not end, and
 * step and frame stay what they are.
 */
public final class Job {
  /** The largest number of tiles. */
  public static final int MAX_TILES = (1 << 20) - 1;

  private static final int FIELD = 20;
  private static final long MASK = (1L << FIELD) - 1;

  /** Turns of a loop that lasts some 20 microseconds: less than parking and waking costs twice. */
  private static final int SPINS = 2000;

  /**
   * The least time between two checkpoints of a step. What is asked there takes a process longer
   * than a small tile until it is compiled.
   */
  private static final long INTERVAL_NANOS = 100_000;

  private final AtomicLong state = new AtomicLong();
  private final AtomicInteger done = new AtomicInteger();
  private Tiles step;

  /** Of the step; read by those who have claimed one, which keeps it as it is. */
  private int tiles;

  /**
   * The configuration with which the caller passes checkpoints, from {@link #finish} on until it
   * ends.
   */
  private ExecutionConfig config;

  private Workers workers;

  /**
   * The reason why the execution ends in this step; null as long as it goes on. Written by the
   * caller.
   */
  private volatile Failed stopped;

  private volatile Thread waiting;
  private volatile Throwable failure;

  /** Returns true if a tile is left to be claimed. */
  boolean hasWork() {
    return hasWork(state.get());
  }

  private static boolean hasWork(long seen) {
    return first(seen) < end(seen);
  }

  private static int first(long seen) {
    return (int) (seen & MASK);
  }

  private static int end(long seen) {
    return (int) ((seen >>> FIELD) & MASK);
  }

  /**
   * Runs tiles until none is left to be claimed or the helper would be one thread too many.
   *
   * @return whether it ran one
   */
  boolean help(int participant, Workers workers) {
    boolean fromBack = participant % 2 == 1;
    boolean helped = false;
    for (long seen = state.get();
        hasWork(seen) && workers.mayHelp(participant);
        seen = state.get()) {
      if (state.compareAndSet(seen, fromBack ? seen - (1L << FIELD) : seen + 1)) {
        helped = true;
        runTile(fromBack ? end(seen) - 1 : first(seen), participant);
      }
    }
    return helped;
  }

  private void runTile(int tile, int participant) {
    // As long as this tile is not done, all of this stays.
    int all = tiles;
    try {
      step.run(participant, tile);
    } catch (RuntimeException | Error e) {
      // The owner of the frame throws it; a helper lives on.
      failure = e;
    } finally {
      if (done.incrementAndGet() == all) {
        Thread owner = waiting;
        if (owner != null) {
          LockSupport.unpark(owner);
        }
      }
    }
  }

  /**
   * Makes the tiles of a step available to others.
   *
   * @param count of the tiles; at least 1, at most {@link #MAX_TILES}
   */
  public void open(Tiles next, int count) {
    step = next;
    tiles = count;
    done.set(0);
    long round = (state.get() >>> (2 * FIELD)) + 1;
    state.set((round << (2 * FIELD)) | ((long) tiles << FIELD));
  }

  /**
   * Runs a step: one of several tiles with the helpers.
   *
   * @param isSeen whether helpers see the job
   * @return null where it is done, else what the execution ends with
   */
  public Failed run(
      Tiles next, int count, ExecutionConfig settings, Workers helpers, boolean isSeen) {
    if (count == 1) {
      return runAlone(next, settings, helpers);
    }
    open(next, count);
    if (isSeen) {
      helpers.wake();
    }
    return finish(settings, helpers);
  }

  /**
   * Runs a step of one tile, which nobody else sees: a helper that took it would have the caller
   * wait, for a whole time slice if it lost its processor.
   *
   * @return null where it is done, else what the execution ends with
   */
  public Failed runAlone(Tiles next, ExecutionConfig settings, Workers helpers) {
    config = settings;
    workers = helpers;
    stopped = null;
    try {
      next.run(0, 0);
    } catch (RuntimeException | Error e) {
      throw failed(e);
    } finally {
      config = null;
      workers = null;
    }
    return stopped;
  }

  private static IllegalStateException failed(Throwable thrown) {
    return new IllegalStateException("a kernel failed: " + thrown, thrown);
  }

  /**
   * Runs tiles, passing the checkpoint now and then between two of them, and waits until those of
   * others are done too. If the checkpoint would pause, nobody begins a tile until it has been
   * passed: the more urgent work has the helpers too.
   *
   * @param workers woken when tiles can be claimed again
   * @return null where all are done, else what the execution ends with: tiles that nobody had begun
   *     by then are left out
   */
  public Failed finish(ExecutionConfig config, Workers workers) {
    this.config = config;
    this.workers = workers;
    stopped = null;
    // Before the first tile its step has passed one.
    long passed = System.nanoTime();
    for (long seen = state.get(); hasWork(seen); seen = state.get()) {
      if (stopped == null && System.nanoTime() - passed >= INTERVAL_NANOS) {
        stopped = pass(config, workers);
        passed = System.nanoTime();
      }
      if (stopped != null) {
        leaveOut();
        break;
      }
      seen = state.get(); // the checkpoint may have paused
      if (hasWork(seen) && state.compareAndSet(seen, seen + 1)) {
        runTile(first(seen), 0);
      }
    }
    join();
    this.config = null;
    this.workers = null;
    return stopped;
  }

  /**
   * Returns whether a tile that has long parts is to be left as it is, since the execution ends.
   * Called between two parts; in the thread of the caller this passes the checkpoint. Tiles that
   * are only warmed up belong to no execution, and none of them is over.
   *
   * @param participant who runs the tile
   */
  public boolean isOver(int participant) {
    if (config != null && participant == 0 && stopped == null) {
      stopped = pass(config, workers);
    }
    return stopped != null;
  }

  /**
   * Passes the checkpoint. Nobody begins a tile during a pause.
   *
   * @return null where the execution goes on, else what it ends with
   */
  public Failed pass(ExecutionConfig config, Workers workers) {
    if (!config.control().isPauseWanted()) {
      return Checkpoint.pass(config);
    }
    long hidden = state.get();
    while (hasWork(hidden) && !state.compareAndSet(hidden, hidden >>> (2 * FIELD) << (2 * FIELD))) {
      hidden = state.get();
    }
    workers.pauseBegins();
    try {
      return Checkpoint.pass(config);
    } finally {
      workers.pauseEnds();
      // Nobody else changes a state without work.
      state.set(hidden);
      if (hasWork(hidden)) {
        workers.wake();
      }
    }
  }

  /** Claims all tiles that are left, and counts them as done. */
  private void leaveOut() {
    for (long seen = state.get(); hasWork(seen); seen = state.get()) {
      int left = end(seen) - first(seen);
      if (state.compareAndSet(seen, seen + left)) {
        done.addAndGet(left);
      }
    }
  }

  private void join() {
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
      throw failed(thrown);
    }
  }
}
