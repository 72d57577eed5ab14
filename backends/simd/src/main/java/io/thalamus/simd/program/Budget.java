// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.driver.tiles.Job;
import io.thalamus.simd.kernel.Lanes;

/**
 * The division of work into tiles. Results do not depend on it. Immutable.
 *
 * @param threads that compute an execution together
 * @param leastWork of a tile, in operations of a whole vector
 */
public record Budget(int threads, long leastWork) {
  /** Work below which a second thread does not pay: some microseconds. */
  private static final long LEAST_WORK = 10_000;

  /**
   * Work above which a tile is cut although nobody else needs it: a tenth of a millisecond, after
   * which the caller looks whether it is to stop or to stand back.
   */
  private static final long MOST_WORK = 100_000;

  /** The same where each tile costs more than its work, and has checkpoints within. */
  private static final long MOST_BLOCK = 4_000_000;

  /** Tiles for each thread: one that is held up leaves the rest to the others. */
  private static final int TILES_PER_THREAD = 4;

  /** Floats of a thread's working set that stay in its second-level cache with room to spare. */
  public static final int CACHED_FLOATS = 48 * 1024;

  /** For threads of a device. */
  public static Budget of(int threads) {
    return new Budget(threads, LEAST_WORK);
  }

  /**
   * Into how many tiles work should be divided.
   *
   * @param work in multiply-accumulates or accesses of a single element
   */
  public int tiles(long work) {
    return tiles(work, MOST_WORK);
  }

  /**
   * Into how many blocks the work of a step should be divided that passes checkpoints inside of
   * them.
   *
   * @param work in multiply-accumulates
   */
  public int blocks(long work) {
    return tiles(work, MOST_BLOCK);
  }

  /**
   * Returns the number of a block's columns from one checkpoint to the next; at least 1.
   *
   * @param work of a column, in multiply-accumulates
   */
  public static int columns(long work) {
    return Math.clamp(MOST_WORK * Lanes.COUNT / Math.max(1, work), 1, Integer.MAX_VALUE);
  }

  private int tiles(long work, long most) {
    long vectors = work / Lanes.COUNT;
    long shared =
        threads == 1 || vectors < 2 * leastWork
            ? 1
            : Math.min(vectors / leastWork, (long) threads * TILES_PER_THREAD);
    return (int) Math.min(Job.MAX_TILES, Math.max(shared, vectors / most));
  }
}
